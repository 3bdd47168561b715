// Package endwithparent ties a program's life to the one that started it.
package endwithparent

import (
	"io"
	"os"
)

// Watch ends this process when its standard input closes: whoever holds the other end is gone, however that happened.
func Watch() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
}
