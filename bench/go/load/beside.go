package main

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/bench/command"
)

// Beside is what goes on while pings are measured.
type Beside struct {
	Downloads int `json:"downloads"`
	// StalledReaders ask for bytes without end and read none of them.
	StalledReaders int `json:"stalledReaders"`
	// StalledUploads send to a destination that does not read.
	StalledUploads int `json:"stalledUploads"`
	// NewConnections are tried after the pings, all at once.
	NewConnections int `json:"newConnections"`
}

const (
	// Until downloads run at speed, and until every buffer on a stalled way is full. SettleMs may make it longer.
	settleTime = time.Second
)

type running struct {
	streams []*stream
	readers sync.WaitGroup
	fetched atomic.Int64
	// began is when the downloads were at speed.
	began   time.Time
	before  int64
	started time.Time
}

func (beside Beside) start(job Job) (*running, error) {
	running := &running{started: time.Now()}
	if beside.Downloads+beside.StalledReaders+beside.StalledUploads == 0 {
		return running, nil
	}
	streams, err := running.dial(job, beside.Downloads+beside.StalledReaders+beside.StalledUploads)
	if err != nil {
		return nil, err
	}
	downloads, stalled := streams[:beside.Downloads], streams[beside.Downloads:]
	readers, uploads := stalled[:beside.StalledReaders], stalled[beside.StalledReaders:]
	err = errors.Join(
		running.order(downloads, command.Flood, 0, running.fetch),
		running.order(readers, command.Flood, 0, func(*stream) {}),
		running.order(uploads, command.Stall, time.Until(job.deadline).Milliseconds(), fill),
	)
	if err != nil {
		return nil, err
	}
	time.Sleep(max(settleTime, milliseconds(job.SettleMs)))
	running.began, running.before = time.Now(), running.fetched.Load()
	return running, nil
}

// dial opens so many connections, before any of them carries what would hold up the next.
func (r *running) dial(job Job, number int) ([]*stream, error) {
	for range number {
		connection, err := job.Way.dial(job.Target, job.deadline)
		if err != nil {
			return nil, err
		}
		r.streams = append(r.streams, connection)
	}
	return r.streams[len(r.streams)-number:], nil
}

func (r *running) order(streams []*stream, order byte, number int64, then func(*stream)) error {
	for _, each := range streams {
		if err := command.Write(each, order, number); err != nil {
			return err
		}
		r.readers.Add(1)
		go func() {
			defer r.readers.Done()
			then(each)
		}()
	}
	return nil
}

func (r *running) fetch(connection *stream) {
	buffer := make([]byte, readBytes)
	for {
		read, err := connection.Read(buffer)
		r.fetched.Add(int64(read))
		if err != nil {
			return // it was ended
		}
	}
}

func fill(connection *stream) {
	for {
		if _, err := connection.Write(command.Pattern); err != nil {
			return // it was ended
		}
	}
}

// end tries new connections while everything still runs, lets whoever measures memory do so, and breaks all off.
func (r *running) end(job Job, result *Result) {
	if elapsed := time.Since(r.began).Seconds(); r.fetched.Load() > 0 {
		result.BesideMBs = float64(r.fetched.Load()-r.before) / 1e6 / elapsed
	}
	result.NewOf = job.Beside.NewConnections
	result.NewOk = countNew(job, job.Beside.NewConnections)
	if job.HoldMs > 0 {
		time.Sleep(time.Until(r.started.Add(milliseconds(job.HoldMs))))
		job.phases.reached("held")
	}
	for _, each := range r.streams {
		each.abort()
	}
	r.readers.Wait()
}

// countNew is how many of so many new connections, made at once, answer a ping in time.
func countNew(job Job, number int) int {
	var ok atomic.Int64
	var done sync.WaitGroup
	for range number {
		done.Add(1)
		go func() {
			defer done.Done()
			if connectOnce(job, earlier(job.deadline, time.Now().Add(frozenAfter))) == nil {
				ok.Add(1)
			}
		}()
	}
	done.Wait()
	return int(ok.Load())
}
