// What holds the namespaces of a pod of the real node.
module fairlead.dev/testbed/pause

go 1.24.0
