package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"k8s.io/client-go/tools/remotecommand"
)

// drainAfterKill is how long the output of a killed process may take to be passed on before it is given up.
const drainAfterKill = time.Second

type processSpec struct {
	argv, env []string
	dir       string
	// stdin: it has one; otherwise it reads nothing.
	stdin bool
	// tty: it has a terminal; its output is all stdout then.
	tty bool
	// stdout and stderr may be nil.
	stdout, stderr io.Writer
}

// process runs in a session, and so in a process group, of its own: it is ended with all that it started.
type process struct {
	cmd *exec.Cmd
	// stdin is nil without one. Closing it ends the process's standard input, unless it has a terminal.
	stdin io.WriteCloser
	// terminal is nil without one.
	terminal *os.File
	// done is closed when it has ended and all its output was passed on; exitCode is valid from then on.
	done     chan struct{}
	exitCode int

	mu     sync.Mutex
	reaped bool
	killed chan struct{}
}

func startProcess(spec processSpec) (*process, error) {
	cmd := exec.Command(lookUp(spec.argv[0], spec.env), spec.argv[1:]...)
	cmd.Args[0] = spec.argv[0]
	cmd.Env, cmd.Dir = spec.env, spec.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p := &process{cmd: cmd, done: make(chan struct{}), killed: make(chan struct{})}
	var pipes pipes
	defer pipes.closeTheirs()
	if err := p.connect(spec, &pipes); err != nil {
		pipes.closeOurs()
		return nil, err
	}
	if err := startOnSteadyThread(cmd); err != nil {
		pipes.closeOurs()
		return nil, err
	}
	go p.wait(&pipes)
	return p, nil
}

// lookUp finds a program as the process itself would: by the PATH of its own environment.
func lookUp(program string, env []string) string {
	if strings.Contains(program, "/") {
		return program
	}
	for _, variable := range env {
		path, found := strings.CutPrefix(variable, "PATH=")
		for _, dir := range filepath.SplitList(path) {
			candidate := filepath.Join(dir, program)
			if info, err := os.Stat(candidate); found && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return candidate
			}
		}
	}
	return program
}

func (p *process) connect(spec processSpec, pipes *pipes) (err error) {
	if spec.tty {
		ours, theirs, err := pty.Open()
		if err != nil {
			return err
		}
		pipes.add(ours, theirs, spec.stdout)
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs, theirs, theirs
		p.cmd.SysProcAttr.Setctty = true
		p.terminal = ours
		if spec.stdin {
			p.stdin = withoutClose{ours}
		}
		return nil
	}
	if spec.stdin {
		theirs, ours, err := os.Pipe()
		if err != nil {
			return err
		}
		pipes.add(ours, theirs, nil)
		p.cmd.Stdin, p.stdin = theirs, ours
	}
	if spec.stdout != nil {
		if p.cmd.Stdout, err = pipes.output(spec.stdout); err != nil {
			return err
		}
	}
	if spec.stderr != nil {
		p.cmd.Stderr, err = pipes.output(spec.stderr)
	}
	return err
}

func (p *process) wait(pipes *pipes) {
	passedOn := pipes.copy()
	// Only the exit status is of interest, and it is in ProcessState.
	_ = p.cmd.Wait()
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	// What it left behind in its group ends too, as in a container.
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	select {
	case <-passedOn:
	case <-p.killed:
		select {
		case <-passedOn:
		case <-time.After(drainAfterKill):
		}
	}
	pipes.closeOurs()
	p.exitCode = exitCode(p.cmd.ProcessState)
	close(p.done)
}

// signal sends it to the process and all that it started.
func (p *process) signal(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.cmd.Process.Pid, signal)
	}
}

// endWithin asks it to end, and kills it when the time is over.
func (p *process) endWithin(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
		p.kill()
	}
}

// kill ends it at once; output that nobody takes is lost.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.killed:
	default:
		close(p.killed)
	}
}

// follow gives the terminal, if there is one, the sizes that come, until the channel is closed.
func (p *process) follow(sizes <-chan remotecommand.TerminalSize) {
	if sizes == nil || p.terminal == nil {
		return
	}
	for size := range sizes {
		_ = pty.Setsize(p.terminal, &pty.Winsize{Rows: size.Height, Cols: size.Width})
	}
}

// exitCode as container runtimes tell it: 128 and the signal for a process that a signal ended.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// pipes are the ends of a process's standard streams: ours, theirs, and where its output goes.
type pipes struct {
	ours, theirs []*os.File
	outputs      []output
}

type output struct {
	from *os.File
	to   io.Writer
}

func (p *pipes) output(to io.Writer) (*os.File, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.add(ours, theirs, to)
	return theirs, nil
}

func (p *pipes) add(ours, theirs *os.File, to io.Writer) {
	p.ours, p.theirs = append(p.ours, ours), append(p.theirs, theirs)
	if to != nil {
		p.outputs = append(p.outputs, output{ours, to})
	}
}

// copy passes output on until all of it ended; then the channel is closed.
func (p *pipes) copy() <-chan struct{} {
	var copying sync.WaitGroup
	for _, each := range p.outputs {
		copying.Add(1)
		go func() {
			defer copying.Done()
			_, _ = io.Copy(each.to, each.from)
			// If nobody listens any more, this is how the process learns of it.
			_ = each.from.Close()
		}()
	}
	passedOn := make(chan struct{})
	go func() { copying.Wait(); close(passedOn) }()
	return passedOn
}

func (p *pipes) closeOurs() {
	for _, file := range p.ours {
		_ = file.Close()
	}
}

func (p *pipes) closeTheirs() {
	for _, file := range p.theirs {
		_ = file.Close()
	}
}

// withoutClose: a terminal is one file for both directions, which ends with the process.
type withoutClose struct{ io.Writer }

func (withoutClose) Close() error { return nil }
