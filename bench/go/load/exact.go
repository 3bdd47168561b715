package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/bench/command"
)

// exact tries something job.Count times, job.Connections at the same time: Count is how often everything came that should.
func exact(job Job, try func(Job, int, time.Time) error) Result {
	result := Result{Of: job.Count}
	var failures failures
	var begun, correct atomic.Int64
	var done sync.WaitGroup
	for range job.Connections {
		done.Add(1)
		go func() {
			defer done.Done()
			for next := begun.Add(1); next <= int64(job.Count); next = begun.Add(1) {
				deadline := earlier(job.deadline, time.Now().Add(milliseconds(job.TryMs)))
				if err := try(job, int(next), deadline); err != nil {
					failures.add(err)
				} else {
					correct.Add(1)
				}
			}
		}()
	}
	done.Wait()
	result.Count = int(correct.Load())
	return failures.in(result)
}

// bannerArrives: the target speaks first.
func bannerArrives(job Job, _ int, deadline time.Time) error {
	connection, err := job.Way.dial(job.Banner, deadline)
	if err != nil {
		return err
	}
	defer connection.Close()
	banner := make([]byte, command.Block)
	if _, err := io.ReadFull(connection, banner); err != nil {
		return err
	}
	if !bytes.Equal(banner, command.Pattern[:command.Block]) {
		return errors.New("another banner came")
	}
	return nil
}

// answerAfterEnd: the answer begins when the question has ended.
func answerAfterEnd(job Job, _ int, deadline time.Time) error {
	connection, err := job.Way.dial(job.Target, deadline)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := command.Write(connection, command.HalfClose, job.Bytes); err != nil {
		return err
	}
	if err := connection.end(); err != nil {
		return err
	}
	return readPattern(connection, job.Bytes, 0)
}

// Every other reader takes its time, so that the end comes while much is still on the way.
const slowReader = 20 * time.Millisecond

// everythingBeforeEnd: the target writes and closes at once.
func everythingBeforeEnd(job Job, number int, deadline time.Time) error {
	connection, err := job.Way.dial(job.Target, deadline)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := command.Write(connection, command.SendClose, job.Bytes); err != nil {
		return err
	}
	pause := time.Duration(0)
	if number%2 == 0 {
		pause = slowReader
	}
	return readPattern(connection, job.Bytes, pause)
}

// readPattern wants exactly so many bytes of the pattern, and then the end. It pauses after each of its first reads.
func readPattern(from io.Reader, want int64, pause time.Duration) error {
	buffer := make([]byte, len(command.Pattern))
	for got := int64(0); ; {
		offset := int(got % int64(len(command.Pattern)))
		read, err := io.ReadFull(from, buffer[:len(command.Pattern)-offset])
		if !bytes.Equal(buffer[:read], command.Pattern[offset:offset+read]) {
			return errors.New("other bytes came")
		}
		got += int64(read)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			if got != want {
				return fmt.Errorf("%d of %d bytes came before the end", got, want)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("after %d of %d bytes: %w", got, want, err)
		}
		time.Sleep(pause)
	}
}

const (
	aborted = 16
	busy    = 2
	// Long enough for the downloads to run at speed.
	beforeAbort = 50 * time.Millisecond
)

// abortWhileBusy cuts 16 downloads off while 2 uploads run, job.Count times: Count is how often a new connection answers
// afterwards, within job.TryMs.
func abortWhileBusy(job Job) Result {
	result := Result{Of: job.Count}
	var failures failures
	for range job.Count {
		deadline := earlier(job.deadline, time.Now().Add(beforeAbort+2*milliseconds(job.TryMs)))
		if err := abortOnce(job, deadline); err != nil {
			failures.add(err)
		} else {
			result.Count++
		}
	}
	return failures.in(result)
}

func abortOnce(job Job, deadline time.Time) error {
	job.deadline = deadline
	running := &running{started: time.Now()}
	defer func() {
		for _, each := range running.streams {
			each.abort()
		}
		running.readers.Wait()
	}()
	for range busy {
		connection, err := running.order(job, command.Upload, 32<<30)
		if err != nil {
			return err
		}
		running.readers.Add(1)
		go running.fill(connection)
	}
	first := len(running.streams)
	for range aborted {
		connection, err := running.order(job, command.Flood, 0)
		if err != nil {
			return err
		}
		running.readers.Add(1)
		go running.fetch(connection)
	}
	time.Sleep(beforeAbort)
	for _, each := range running.streams[first:] {
		each.abort()
	}
	return connectOnce(job, earlier(deadline, time.Now().Add(milliseconds(job.TryMs))))
}
