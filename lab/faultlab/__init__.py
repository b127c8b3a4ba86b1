"""The lab: workloads with faults that are put in, and a score of what fathom says of them."""
