"""The lab: workloads with injected faults, and a score of fathom's verdicts on them."""
