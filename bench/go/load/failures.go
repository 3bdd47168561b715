package main

import "sync"

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
