// Package lifecycle decides which engine owns a group now, and why and how a parameter set is removed.
package lifecycle
