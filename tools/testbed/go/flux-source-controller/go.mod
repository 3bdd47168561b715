module fairlead.local/testbed/flux-source-controller

go 1.24.0

require github.com/fluxcd/source-controller v1.3.0

// Upstream's own, which only its main module would apply.
replace github.com/opencontainers/go-digest => github.com/opencontainers/go-digest v1.0.1-0.20220411205349-bde1400a84be
