package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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

// everythingBeforeEnd: one side writes and closes at once, by turns the target and the client; every other reader is slow.
func everythingBeforeEnd(job Job, number int, deadline time.Time) error {
	connection, err := job.Way.dial(job.Target, deadline)
	if err != nil {
		return err
	}
	defer connection.Close()
	slowly := number%2 == 1
	if number%4 < 2 {
		return writeThenClose(job, connection, slowly, deadline)
	}
	if err := command.Write(connection, command.SendClose, job.Bytes); err != nil {
		return err
	}
	pause := time.Duration(0)
	if slowly {
		pause = command.SlowReader
	}
	return readPattern(connection, job.Bytes, pause)
}

// writeThenClose asks on another connection what came at the target.
func writeThenClose(job Job, connection *stream, slowly bool, deadline time.Time) error {
	receipt := rand.Int64N(1<<32) << 1
	if slowly {
		receipt++
	}
	if err := command.Write(connection, command.Receive, receipt); err != nil {
		return err
	}
	for left := job.Bytes; left > 0; {
		written, err := connection.Write(command.Pattern[:min(left, int64(len(command.Pattern)))])
		if err != nil {
			return err
		}
		left -= int64(written)
	}
	if err := connection.Close(); err != nil {
		return err
	}
	asking, err := job.Way.dial(job.Target, deadline)
	if err != nil {
		return err
	}
	defer asking.Close()
	if err := command.Write(asking, command.Received, receipt); err != nil {
		return err
	}
	var answer [8]byte
	if _, err := io.ReadFull(asking, answer[:]); err != nil {
		return err
	}
	if got := int64(binary.BigEndian.Uint64(answer[:])); got != job.Bytes {
		return fmt.Errorf("%d of %d bytes came at the target", got, job.Bytes)
	}
	return nil
}

// readPattern wants exactly so many bytes of the pattern, and then the end. It pauses after each read.
func readPattern(from io.Reader, want int64, pause time.Duration) error {
	buffer := make([]byte, len(command.Pattern))
	for got := int64(0); ; time.Sleep(pause) {
		read, err := io.ReadFull(from, buffer)
		if wrong := command.Check(buffer[:read], got); wrong != nil {
			return wrong
		}
		got += int64(read)
		switch {
		case (err == io.EOF || err == io.ErrUnexpectedEOF) && got == want:
			return nil
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return fmt.Errorf("%d of %d bytes came before the end", got, want)
		case err != nil:
			return fmt.Errorf("after %d of %d bytes: %w", got, want, err)
		}
	}
}

const (
	aborted = 16
	busy    = 2
	// Long enough for the downloads to run at speed.
	beforeAbort = 50 * time.Millisecond
	// A tunnel that does not come back is not waited for again and again.
	enoughSilence = 2
)

// abortWhileBusy cuts 16 downloads off while 2 uploads run, job.Count times: Count is how often a new connection answers
// afterwards, within job.TryMs.
func abortWhileBusy(job Job) Result {
	result := Result{Of: job.Count}
	var failures failures
	for silent := 0; result.Count+failures.count < job.Count; {
		deadline := earlier(job.deadline, time.Now().Add(beforeAbort+2*milliseconds(job.TryMs)))
		if err := abortOnce(job, deadline); err == nil {
			result.Count++
			silent = 0
			continue
		} else {
			failures.add(err)
		}
		if silent++; silent == enoughSilence {
			failures.count = job.Count - result.Count
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
	streams, err := running.dial(job, busy+aborted)
	if err != nil {
		return err
	}
	uploads, downloads := streams[:busy], streams[busy:]
	err = errors.Join(
		running.order(uploads, command.Upload, 32<<30, fill),
		running.order(downloads, command.Flood, 0, running.fetch),
	)
	if err != nil {
		return err
	}
	time.Sleep(beforeAbort)
	for _, each := range downloads {
		each.abort()
	}
	return connectOnce(job, earlier(deadline, time.Now().Add(milliseconds(job.TryMs))))
}
