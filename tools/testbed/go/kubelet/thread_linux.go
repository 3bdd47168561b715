package main

import (
	"os/exec"
	"runtime"
	"syscall"
)

var starts = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}

// startOnSteadyThread starts a process that the kernel ends when this one is killed. To the kernel, the parent is the
// thread that forked, so that one must not end before.
func startOnSteadyThread(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	result := make(chan error)
	starts <- func() { result <- cmd.Start() }
	return <-result
}
