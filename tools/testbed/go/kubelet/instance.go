package main

import (
	"errors"
	"io"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// instance is one run of a container: its process, and those that were started in it by exec.
type instance struct {
	main *process
	// stdout and stderr go to the log and to whoever is attached.
	stdout, stderr *fanOut
	stdinOnce      bool
	// logged is closed when the log is complete.
	logged chan struct{}

	mu    sync.Mutex
	execs map[*process]struct{}
	over  bool
}

func startInstance(spec *v1.Container, argv, environment []string, dir string, log *containerLog) (*instance, error) {
	stdout, stderr := newFanOut(log.stream("stdout")), newFanOut(log.stream("stderr"))
	main, err := startProcess(processSpec{
		argv: argv, env: environment, dir: dir, stdin: spec.Stdin, tty: spec.TTY, stdout: stdout, stderr: stderr,
	})
	if err != nil {
		log.close()
		return nil, err
	}
	i := &instance{
		main: main, stdout: stdout, stderr: stderr, stdinOnce: spec.StdinOnce,
		logged: make(chan struct{}), execs: map[*process]struct{}{},
	}
	go func() { <-main.done; log.close(); close(i.logged) }()
	return i, nil
}

// exec starts one more process in the container. It ends with the container at the latest.
func (i *instance) exec(spec processSpec) (*process, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.over {
		return nil, errors.New("the container has ended")
	}
	spec.env, spec.dir = i.main.cmd.Env, i.main.cmd.Dir
	started, err := startProcess(spec)
	if err != nil {
		return nil, err
	}
	i.execs[started] = struct{}{}
	go func() {
		<-started.done
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.execs, started)
	}()
	return started, nil
}

// end ends what exec started; the container's own process has ended already. Returns when all are gone.
func (i *instance) end() {
	i.mu.Lock()
	i.over = true
	left := make([]*process, 0, len(i.execs))
	for each := range i.execs {
		left = append(left, each)
	}
	i.mu.Unlock()
	for _, each := range left {
		each.kill()
	}
	for _, each := range left {
		<-each.done
	}
}

// fanOut writes everything to the log, and to those who are attached at the time. Like a container runtime's, it waits
// for all of them.
type fanOut struct {
	mu       sync.Mutex
	log      io.Writer
	attached map[io.Writer]struct{}
}

func newFanOut(log io.Writer) *fanOut {
	return &fanOut{log: log, attached: map[io.Writer]struct{}{}}
}

func (f *fanOut) Write(bytes []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for each := range f.attached {
		if _, err := each.Write(bytes); err != nil {
			delete(f.attached, each)
		}
	}
	return f.log.Write(bytes)
}

// attach adds a reader from now on; the result removes it.
func (f *fanOut) attach(to io.Writer) (detach func()) {
	if to == nil {
		return func() {}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attached[to] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.attached, to)
	}
}
