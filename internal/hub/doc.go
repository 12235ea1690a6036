// Package hub watches the hub's Kubernetes API for Argo CD's cluster Secrets, and makes facts of them.
//
//  1. Only metadata is asked for: every request accepts nothing but PartialObjectMetadata, so that a Secret's data
//     never enters the process. Requests that are no GET never leave it. Annotations that repeat an object's content
//     (last-applied-configuration) are dropped before anything is stored.
//  2. A cluster's name is that of the Secret's annotation cluster_name, else of its label cluster_name, else the
//     Secret's own.
//  3. Facts are sticky: a cluster whose Secret has gone keeps what was known of it for the life of the process. An
//     Application is never lost to a missing Secret.
//  4. Of several Secrets for one cluster the oldest counts, then the first by name; the others are a problem.
//  5. Nothing is known until the first list is complete (State.Synced). Later failures leave the facts as they are,
//     and are told in State.Err by a short text that is the same each time (G4, G5).
//  6. Changes are collected for a moment before they are told: a restart of the API server, or an operator that writes
//     all Secrets anew, costs one recomputation and not thousands.
package hub
