output "secretManagerSecretName" {
  description = "The hub's own record"
  value       = module.registration.secret.name
}

output "role_arns" {
  description = "Roles of the hub's components: those that a spoke trusts"
  value       = module.identities.role_arns
}

output "record" {
  description = "The record as JSON, for argosy lint --records"
  value       = module.registration.record
  sensitive   = true
}

output "facts" {
  description = "The hub as an entry of a facts file"
  value       = module.registration.facts
}
