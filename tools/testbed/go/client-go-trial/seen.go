package main

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// seen is what an informer told its handlers, by resource version. A list replaces what has happened until then by what is there:
// the versions between the last one that came and the list's own are skipped, as client-go intends, and not missed.
type seen struct {
	mutex sync.Mutex
	times map[uint64]int
	// last that a watch or a list brought.
	last    uint64
	skipped []span
}

// span is after `from`, up to and with `to`.
type span struct{ from, to uint64 }

func newSeen() *seen {
	return &seen{times: map[uint64]int{}}
}

// handlers notes each event that is told.
func (s *seen) handlers() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { s.note(object.(*v1.ConfigMap)) },
		UpdateFunc: func(before, object any) {
			// After a list, what has not changed is told once more.
			if before.(*v1.ConfigMap).ResourceVersion != object.(*v1.ConfigMap).ResourceVersion {
				s.note(object.(*v1.ConfigMap))
			}
		},
		DeleteFunc: func(object any) {
			// Found by a list to be gone: nobody knows by which version.
			if _, unknown := object.(cache.DeletedFinalStateUnknown); !unknown {
				s.note(object.(*v1.ConfigMap))
			}
		},
	}
}

func (s *seen) note(object *v1.ConfigMap) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.times[versionOf(object)]++
}

// arrived: the watch has brought it, whenever the handlers are told.
func (s *seen) arrived(version uint64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.last = max(s.last, version)
}

func (s *seen) listed(list runtime.Object) {
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		panic(err)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	until := versionOf(&metav1.ObjectMeta{ResourceVersion: accessor.GetResourceVersion()})
	s.skipped = append(s.skipped, span{s.last, until})
	s.last = max(s.last, until)
}

// compared says how it matches what happened: each event was seen once, or skipped by a list, or it is missed.
func (s *seen) compared(happened []uint64) (told, skipped, missed, twice int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, version := range happened {
		switch {
		case s.times[version] > 1:
			told++
			twice++
		case s.times[version] == 1:
			told++
		case s.isSkipped(version):
			skipped++
		default:
			missed++
		}
	}
	return told, skipped, missed, twice
}

func (s *seen) isSkipped(version uint64) bool {
	for _, span := range s.skipped {
		if version > span.from && version <= span.to {
			return true
		}
	}
	return false
}
