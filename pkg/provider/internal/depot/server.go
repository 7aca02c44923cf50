// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// A Server is a depot. It serves those who know one of its keys.
type Server struct {
	URL string

	mu       sync.Mutex
	keys     map[string]bool
	items    map[string]stored
	requests int
	refused  int
	held     chan struct{} // requests wait for it to be closed
	waiting  int
	now      int // requests under way
	peak     int // the most that were
}

type stored struct {
	Size  int    `json:"size"`
	Owner string `json:"owner"`
}

// NewServer starts an empty depot, which stop ends.
func NewServer(keys ...string) (server *Server, stop func()) {
	s := &Server{keys: map[string]bool{}, items: map[string]stored{}}
	s.Allow(keys...)
	h := httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = h.URL
	return s, h.Close
}

// Allow lets the holders of the keys in.
func (s *Server) Allow(keys ...string) { s.set(true, keys) }

// Revoke lets the holders of the keys in no more.
func (s *Server) Revoke(keys ...string) { s.set(false, keys) }

func (s *Server) set(allowed bool, keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		s.keys[key] = allowed
	}
}

// Hold makes requests wait from now on, until somebody calls what it returns.
func (s *Server) Hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(chan struct{})
	s.held = held
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.held == held {
			s.held = nil
		}
		close(held)
	}
}

// Waiting is how many requests wait.
func (s *Server) Waiting() int { return s.count(&s.waiting) }

// Requests that were made.
func (s *Server) Requests() int { return s.count(&s.requests) }

// Refused requests: those with a key that is not known.
func (s *Server) Refused() int { return s.count(&s.refused) }

// Peak is the most requests that were under way at once.
func (s *Server) Peak() int { return s.count(&s.peak) }

// Items is how many there are.
func (s *Server) Items() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}

func (s *Server) count(n *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *n
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.now++
	s.peak = max(s.peak, s.now)
	s.mu.Unlock()
	s.wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	s.requests++
	if !s.keys[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")] {
		s.refused++
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	name := r.URL.Path
	have, ok := s.items[name]
	switch r.Method {
	case http.MethodGet:
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(have)
	case http.MethodPut:
		if err := json.NewDecoder(r.Body).Decode(&have); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.items[name] = have
	case http.MethodDelete:
		delete(s.items, name)
	}
}

func (s *Server) wait() {
	s.mu.Lock()
	held := s.held
	if held == nil {
		s.mu.Unlock()
		return
	}
	s.waiting++
	s.mu.Unlock()
	<-held
	s.mu.Lock()
	s.waiting--
	s.mu.Unlock()
}
