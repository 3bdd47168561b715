// Programs of the benchmark. Standard library only: nothing is downloaded to build them.
module fairlead.dev/bench

go 1.24
