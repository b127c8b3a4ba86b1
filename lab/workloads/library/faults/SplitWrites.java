/** The peer writes each answer in three parts, which meet delayed acknowledgements. */
public final class SplitWrites extends Reviews {}
