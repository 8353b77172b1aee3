import { isObject } from '../../base/json/object.ts'
import type { Json } from '../../base/json/types.ts'
import { type Complaint, dotted, type Issue } from '../shared/validate.ts'

/** What Anthropic says about an issue, word for word where its words are known: Claude Code reads them. */
export function complain(issue: Issue, body: Json): Complaint {
  const message = wording(issue, valueAt(body, issue.path))
  if (issue.path.length === 0) return { message }
  return { message: `${tagged(issue.path, body)}: ${message}`, param: dotted(issue.path) }
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a valid string',
  number: 'a valid number',
  int: 'a valid integer',
  boolean: 'a valid boolean',
  array: 'a valid list',
  object: 'a valid dictionary or object to extract fields from',
}

const integers = new Set(['max_tokens', 'top_k', 'budget_tokens'])

function wording(issue: Issue, value: Json | undefined): string {
  const missing = value === undefined
  switch (issue.code) {
    case 'invalid_type':
      if (missing && issue.path.length > 0) return 'Field required'
      if (issue.expected === 'int' && typeof value === 'number')
        return 'Input should be a valid integer, got a number with a fractional part'
      if (integers.has(String(issue.path.at(-1)))) return `Input should be ${kinds.int}`
      return `Input should be ${kinds[issue.expected] ?? `a valid ${issue.expected}`}`
    case 'invalid_union':
      // Only content and system have two shapes; a string is the one that nobody means to write as something else.
      return missing ? 'Field required' : 'Input should be a valid list'
    case 'invalid_value':
      // `system` is taken too, but these are the words that clients look for.
      return missing ? 'Field required' : "Input should be 'user' or 'assistant'"
    case 'too_small':
      if (issue.origin === 'array') return 'at least one message is required'
      if (issue.origin === 'string') return 'String should have at least 1 character'
      return `Input should be greater than or equal to ${issue.minimum}`
    case 'too_big':
      return `Input should be less than or equal to ${issue.maximum}`
    default:
      return issue.message
  }
}

function valueAt(body: Json, path: readonly PropertyKey[]): Json | undefined {
  let value: Json | undefined = body
  for (const step of path) {
    if (Array.isArray(value)) value = value[Number(step)]
    else if (isObject(value)) value = value[String(step)]
    else return undefined
  }
  return value
}

/** Anthropic puts an object's type into the path: `messages.0.content.1.tool_use.id`, `tools.0.custom.input_schema`. */
function tagged(path: readonly PropertyKey[], body: Json): string {
  const steps: string[] = []
  let value: Json | undefined = body
  for (const [depth, step] of path.entries()) {
    if (depth > 0 && isObject(value)) {
      if (typeof value.type === 'string' && step !== 'type') steps.push(value.type)
      else if (path[0] === 'tools' && depth === 2) steps.push('custom')
    }
    steps.push(String(step))
    value = valueAt(value ?? null, [step])
  }
  return steps.join('.')
}
