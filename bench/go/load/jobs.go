package main

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	pingBytes = 64
	warmups   = 20
	// A system that is broken must not be asked thousands of times.
	maxFailures = 20
	// What a 99th percentile needs at least.
	minPings = 100
)

// download fetches job.Bytes over job.Connections warm connections at once, an equal part each.
func download(job Job, client *client) Result {
	part := job.Bytes / int64(job.Connections)
	path := fmt.Sprintf("/bytes?n=%d", part)
	result := Result{Of: job.Connections}
	var failures failures
	var warm, done sync.WaitGroup
	var started time.Time
	begin := make(chan struct{})
	var fetched atomic.Int64
	for range job.Connections {
		warm.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			connection, err := warmConnection(client, 1)
			warm.Done()
			<-begin
			if err == nil {
				defer connection.close()
				err = connection.get(path, part)
			}
			if err != nil {
				failures.add(err)
				return
			}
			fetched.Add(part)
		}()
	}
	warm.Wait()
	started = time.Now()
	close(begin)
	done.Wait()
	result.Seconds = time.Since(started).Seconds()
	result.Bytes = fetched.Load()
	return failures.in(result)
}

// ping asks for 64 bytes job.Count times (fewer if that takes long), one after the other, on one warm connection.
func ping(job Job, client *client) Result {
	result := Result{Of: job.Count}
	var failures failures
	connection, err := warmConnection(client, warmups)
	if err != nil {
		failures.add(err)
		return failures.in(result)
	}
	defer connection.close()
	times := make([]time.Duration, 0, job.Count)
	started := time.Now()
	enough := time.Duration(job.EnoughMs) * time.Millisecond
	for len(times) < job.Count && (len(times) < minPings || time.Since(started) < enough) {
		before := time.Now()
		if err := connection.get("/ping", pingBytes); err != nil {
			failures.add(err)
			break // the connection is of no more use
		}
		times = append(times, time.Since(before))
	}
	result.Seconds = time.Since(started).Seconds()
	result.Count = len(times)
	result.P50Us, result.P99Us = percentileUs(times, 0.50), percentileUs(times, 0.99)
	return failures.in(result)
}

// connect makes job.Count connections (fewer if that takes long), job.Connections at the same time: TCP, a full TLS
// handshake, one /ping each.
func connect(job Job, client *client) Result {
	result := Result{Of: job.Count}
	var failures failures
	var begun, succeeded atomic.Int64
	var done sync.WaitGroup
	enough := time.Duration(job.EnoughMs) * time.Millisecond
	started := time.Now()
	for range job.Connections {
		done.Add(1)
		go func() {
			defer done.Done()
			for begun.Add(1) <= int64(job.Count) && time.Since(started) < enough && failures.few() {
				if err := connectOnce(client); err != nil {
					failures.add(err)
				} else {
					succeeded.Add(1)
				}
			}
		}()
	}
	done.Wait()
	result.Seconds = time.Since(started).Seconds()
	result.Count = int(succeeded.Load())
	return failures.in(result)
}

func connectOnce(client *client) error {
	connection, err := client.dial()
	if err != nil {
		return err
	}
	defer connection.close()
	return connection.get("/ping", pingBytes)
}

func warmConnection(client *client, pings int) (*connection, error) {
	connection, err := client.dial()
	if err != nil {
		return nil, err
	}
	for range pings {
		if err := connection.get("/ping", pingBytes); err != nil {
			connection.close()
			return nil, err
		}
	}
	return connection, nil
}

// percentileUs is the nearest-rank percentile in microseconds.
func percentileUs(times []time.Duration, p float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	rank := min(len(times)-1, int(p*float64(len(times))))
	return float64(times[rank].Nanoseconds()) / 1000
}

// failures counts what went wrong and keeps the first reason.
type failures struct {
	mutex  sync.Mutex
	count  int
	reason string
}

func (f *failures) add(err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.count++; f.count == 1 {
		f.reason = err.Error()
	}
}

func (f *failures) few() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.count < maxFailures
}

func (f *failures) in(result Result) Result {
	result.Failed, result.Reason = f.count, f.reason
	return result
}
