//go:build tools

// Package tools keeps the component in go.mod; the testbed builds it by its import path.
package tools

import _ "github.com/transparency-dev/tessera/cmd/fsck"
