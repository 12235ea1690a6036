output "role_arns" {
  description = "Roles of the hub's components: those that a spoke trusts"
  value       = { for name, role in aws_iam_role.hub : name => role.arn }
}

output "facts" {
  description = "The hub as an entry of a facts file"
  value       = module.record.facts
}
