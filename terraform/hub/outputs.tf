output "secretManagerSecretName" {
  description = "The hub's own record"
  value       = module.registration.secret.name
}

output "role_arns" {
  description = "Roles of the hub's components: those that a spoke trusts"
  value       = module.identities.role_arns
}

output "facts" {
  description = "The hub as an entry of a facts file"
  value       = module.registration.facts
}
