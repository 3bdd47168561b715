package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A system that is broken must not be asked thousands of times.
const maxFailures = 20

// connect makes job.Count connections (fewer if that takes long), job.Connections at the same time: TCP, a full TLS
// handshake, CONNECT, and one byte there and back.
func connect(job Job) Result {
	result := Result{Of: job.Count}
	var failures failures
	var begun, succeeded atomic.Int64
	var done sync.WaitGroup
	enough := job.enough()
	started := time.Now()
	for range job.Connections {
		done.Add(1)
		go func() {
			defer done.Done()
			for begun.Add(1) <= int64(job.Count) && time.Now().Before(enough) && failures.few() {
				if err := connectOnce(job, job.deadline); err != nil {
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

func connectOnce(job Job, deadline time.Time) error {
	connection, err := job.Way.dial(job.Target, deadline)
	if err != nil {
		return err
	}
	defer connection.Close()
	return downloadPart(connection, 1)
}

// firstByte is the time from the beginning of a connection until the first byte of an answer, one after the other.
func firstByte(job Job) Result {
	result := Result{Of: job.Count}
	var failures failures
	times := make([]time.Duration, 0, job.Count)
	enough := job.enough()
	for len(times) < job.Count && time.Now().Before(enough) && failures.few() {
		before := time.Now()
		if err := connectOnce(job, job.deadline); err != nil {
			failures.add(err)
			continue
		}
		times = append(times, time.Since(before))
	}
	result.Count = len(times)
	result.P50Us, result.P99Us = percentileUs(times, 0.50), percentileUs(times, 0.99)
	return failures.in(result)
}

// hold opens job.Count connections, job.Connections at the same time, and keeps them open until it may go on.
func hold(job Job) Result {
	result := Result{Of: job.Count}
	var failures failures
	var begun atomic.Int64
	var done sync.WaitGroup
	streams := make([]*stream, job.Count)
	for range job.Connections {
		done.Add(1)
		go func() {
			defer done.Done()
			for next := begun.Add(1); next <= int64(job.Count) && failures.few(); next = begun.Add(1) {
				connection, err := warmConnection(job)
				if err != nil {
					failures.add(err)
					continue
				}
				streams[next-1] = connection
			}
		}()
	}
	done.Wait()
	time.Sleep(milliseconds(job.SettleMs))
	job.phases.reached("held")
	for _, each := range streams {
		if each == nil {
			continue
		}
		// It must still be there.
		if err := downloadPart(each, 1); err != nil {
			failures.add(err)
		} else {
			result.Count++
		}
		_ = each.Close()
	}
	return failures.in(result)
}

// recovery tries new connections one after the other. Told that something was killed, it goes on until one works again, and
// for job.HoldMs at least: Seconds is the time until the first that worked, Failed the tries that did not.
func recovery(job Job) Result {
	var result Result
	if err := connectOnce(job, job.deadline); err != nil {
		return Result{Failed: 1, Of: 1, Reason: err.Error()}
	}
	job.phases.reached("ready")
	killed := time.Now()
	until := killed.Add(milliseconds(job.HoldMs))
	for (result.Count == 0 || time.Now().Before(until)) && time.Now().Before(job.deadline) {
		result.Of++
		err := connectOnce(job, earlier(job.deadline, time.Now().Add(milliseconds(job.TryMs))))
		if err != nil {
			result.Failed++
			result.Reason = err.Error()
		} else if result.Count++; result.Count == 1 {
			result.Seconds = time.Since(killed).Seconds()
		}
		time.Sleep(betweenTries)
	}
	return result
}

const betweenTries = 5 * time.Millisecond

// percentileUs is the nearest-rank percentile in microseconds.
func percentileUs(times []time.Duration, p float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	rank := min(len(times)-1, int(p*float64(len(times))))
	return float64(times[rank].Nanoseconds()) / 1000
}
