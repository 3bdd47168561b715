package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const portForwardDialTimeout = 10 * time.Second

// ExecInContainer runs a command to its end. A command whose client went away goes on, as in a container runtime, until
// it reads the end of its input, or its container ends.
func (i *instance) ExecInContainer(_ context.Context, _ string, _ types.UID, _ string, cmd []string, in io.Reader, out, err io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	started, startError := i.exec(processSpec{argv: cmd, stdin: in != nil, tty: tty, stdout: out, stderr: err})
	if startError != nil {
		return startError
	}
	go started.follow(resize)
	if in != nil {
		go func() {
			_, _ = io.Copy(started.stdin, in)
			_ = started.stdin.Close()
		}()
	}
	<-started.done
	if started.exitCode != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("exit status %d", started.exitCode), Code: started.exitCode}
	}
	return nil
}

// AttachContainer passes on what the container writes from now on, until it ends, and what the client sends to its
// standard input.
func (i *instance) AttachContainer(_ context.Context, _ string, _ types.UID, _ string, in io.Reader, out, err io.WriteCloser, _ bool, resize <-chan remotecommand.TerminalSize) error {
	if out != nil {
		defer i.stdout.attach(out)()
	}
	if err != nil {
		defer i.stderr.attach(err)()
	}
	go i.main.follow(resize)
	if in != nil && i.main.stdin != nil {
		go func() {
			_, _ = io.Copy(i.main.stdin, in)
			if i.stdinOnce {
				_ = i.main.stdin.Close()
			}
		}()
	}
	<-i.main.done
	return nil
}

// forwarder forwards ports of one pod.
type forwarder struct{ pod *pod }

// PortForward carries one connection, each direction to its own end. A process that listens on all addresses, or on the
// pod's, is found there; one that listens on localhost, on this machine's.
func (f forwarder) PortForward(_ context.Context, _ string, _ types.UID, port int32, stream io.ReadWriteCloser) error {
	dialled, err := net.DialTimeout("tcp", net.JoinHostPort(f.pod.address, strconv.Itoa(int(port))), portForwardDialTimeout)
	if err != nil {
		dialled, err = net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))), portForwardDialTimeout)
	}
	if err != nil {
		return err
	}
	connection := dialled.(*net.TCPConn)
	defer connection.Close()
	go func() {
		if _, err := io.Copy(connection, stream); err != nil {
			_ = connection.Close()
			return
		}
		_ = connection.CloseWrite()
	}()
	_, err = io.Copy(stream, connection)
	return err
}
