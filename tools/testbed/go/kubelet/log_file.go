package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"k8s.io/cri-client/pkg/logs"
)

// maxLogLine is what one entry of a log holds, as in container runtimes; longer lines are written in parts.
const maxLogLine = 16 * 1024

// containerLog is a log file in the format of the container runtime interface: time, stream, F for a whole line or P for
// a part of one, and the text.
type containerLog struct {
	mu      sync.Mutex
	file    *os.File
	streams []*logStream
}

// logStream is one standard stream of a container, on its way into the log.
type logStream struct {
	log     *containerLog
	name    string
	pending []byte
}

func createLog(path string) (*containerLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &containerLog{file: file}, nil
}

func (l *containerLog) stream(name string) io.Writer {
	stream := &logStream{log: l, name: name}
	l.streams = append(l.streams, stream)
	return stream
}

// close writes what has no end of line yet.
func (l *containerLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, stream := range l.streams {
		if len(stream.pending) > 0 {
			_ = stream.entry('F', stream.pending)
			stream.pending = nil
		}
	}
	_ = l.file.Close()
}

func (s *logStream) Write(text []byte) (int, error) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.pending = append(s.pending, text...)
	for {
		end := bytes.IndexByte(s.pending, '\n')
		switch {
		case end >= 0 && end <= maxLogLine:
			if err := s.entry('F', s.pending[:end]); err != nil {
				return 0, err
			}
			s.pending = s.pending[end+1:]
		case len(s.pending) > maxLogLine:
			if err := s.entry('P', s.pending[:maxLogLine]); err != nil {
				return 0, err
			}
			s.pending = s.pending[maxLogLine:]
		default:
			return len(text), nil
		}
	}
}

func (s *logStream) entry(kind byte, text []byte) error {
	_, err := fmt.Fprintf(s.log.file, "%s %s %c %s\n", time.Now().UTC().Format(logs.RFC3339NanoFixed), s.name, kind, text)
	return err
}
