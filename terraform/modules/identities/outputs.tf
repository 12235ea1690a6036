output "role_arns" {
  description = "ARNs of the roles, by component"
  value       = { for component, role in aws_iam_role.this : component => role.arn }
}
