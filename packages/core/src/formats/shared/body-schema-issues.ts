interface IssueBase {
  /** The names and indices that lead to the value. */
  readonly path: readonly PropertyKey[]
  /** The description of the expected value, if the schema has one; otherwise `defaultMessage`. */
  readonly message: string
}

type IssueDetails =
  | { readonly code: 'invalid_type'; readonly expected: string }
  | {
      readonly code: 'too_small'
      readonly minimum: number
      readonly origin: 'string' | 'number' | 'int' | 'array'
    }
  | {
      readonly code: 'too_big'
      readonly maximum: number
      readonly origin: 'string' | 'number' | 'int' | 'array'
    }
  | { readonly code: 'invalid_value'; readonly values: readonly unknown[] }
  /** `errors`: the issues of each option. */
  | { readonly code: 'invalid_union'; readonly errors: readonly (readonly Issue[])[] }
  | { readonly code: 'custom'; readonly params?: Readonly<Record<string, unknown>> | undefined }

/** A reason why a value does not fit a schema. */
export type Issue = IssueDetails & IssueBase

/** An issue of a rule. Its path begins at the value that the rule checks. */
export type RuleIssue = IssueDetails & Partial<IssueBase>

/** Receives the issues of a rule. */
export interface Rule {
  addIssue(issue: RuleIssue): void
}

export const defaultMessage = 'Invalid input'

/** Issues found so far. After one that `aborts`, the checks of a schema do not run: the value has another type. */
export class Findings {
  readonly issues: Issue[] = []
  aborted = false

  add(issue: RuleIssue, aborts: boolean): void {
    this.issues.push({ path: [], message: defaultMessage, ...issue } as Issue)
    this.aborted ||= aborts
  }

  addAll(inner: Findings): void {
    this.issues.push(...inner.issues)
    this.aborted ||= inner.aborted
  }

  addWithin(key: PropertyKey, inner: Findings): void {
    for (const issue of inner.issues) this.issues.push({ ...issue, path: [key, ...issue.path] })
    this.aborted ||= inner.aborted
  }
}
