"""What holds a trial: a ladder of ever stronger means, each tried out before it is trusted.

    network     no way to another machine
    cgroups     a control group a trial: ended as one, limited as one
    bwrap       a view of its own: the system read-only, credentials out of sight, its own process numbers
    holds       how one command is held, and what is in effect
    probes      each of them, really run once, and its effect looked at
    ladder      which rung a run stands on, and what each of its trials is given

This keeps trials apart and the machine tidy. It is no protection from a program that means harm.
"""
