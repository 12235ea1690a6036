// Package service holds the service against its client: Argo CD's own code asks it.
package service
