//go:build tools

// Package tools keeps the peer's programs in go.mod; the benchmark builds them by their import paths.
package tools

import (
	_ "sigs.k8s.io/apiserver-network-proxy/cmd/agent"
	_ "sigs.k8s.io/apiserver-network-proxy/cmd/server"
)
