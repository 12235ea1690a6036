// Package catalog reads catalog entries, and names the Applications that they become (N1).
package catalog
