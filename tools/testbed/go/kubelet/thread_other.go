//go:build !linux

package main

import "os/exec"

// startOnSteadyThread starts a process. Here nothing ends it when the kubelet is killed.
func startOnSteadyThread(cmd *exec.Cmd) error { return cmd.Start() }
