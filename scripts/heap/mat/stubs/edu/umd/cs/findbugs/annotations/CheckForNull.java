package edu.umd.cs.findbugs.annotations;

/** An annotation of a checker, which is not here. */
public @interface CheckForNull {}
