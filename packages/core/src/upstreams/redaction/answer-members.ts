/**
 * What the members of an upstream's JSON hold, by their names. Everything that is not named here is searched for credentials; so a
 * unknown field is never a leak.
 *
 * - `content`: the text is what a model said or drew, or a seal: it passes as it is.
 * - `value`: all of it is what a model said, names included: arguments of tool calls.
 * - `error`: the upstream's own words about a failure: neither credentials nor addresses of the upstream pass.
 * - `error-text`: the same where it is a text. Under such a name formats also have objects of other kinds (chat's `message`).
 */
export type MemberKind = 'content' | 'value' | 'error' | 'error-text'

const names: { readonly [K in MemberKind]: string } = {
  content: `content text delta arguments partial_json reasoning reasoning_content thinking refusal transcript token tokens
    data b64_json embedding values float audio signature thought_signature encrypted_content obfuscation p output_text`,
  value: 'input args',
  error: 'error errors last_error detail details status_details incomplete_details failure warnings',
  'error-text': `message msg reason error_message status_message block_reason_message finish_message failure_reason`,
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** As OpenAI and Anthropic write a name, as Google does, and as AWS and .NET do. */
function casesOf(name: string): Set<string> {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return new Set([name, camel, capital(camel)])
}

const kinds: ReadonlyMap<string, MemberKind> = new Map(
  Object.entries(names).flatMap(([kind, list]) =>
    list.split(/\s+/).flatMap((name) => [...casesOf(name)].map((written) => [written, kind as MemberKind] as const)),
  ),
)

export const memberKind = (name: string): MemberKind | undefined => kinds.get(name)

const alternatives = (kind: MemberKind): string =>
  [...kinds]
    .filter(([, its]) => its === kind)
    .map(([name]) => name)
    .join('|')
const errorMember = new RegExp(
  `"(?:(?:${alternatives('error')})"\\s*:\\s*[^n\\s]|(?:${alternatives('error-text')})"\\s*:\\s*["[])|\\\\u00[4-7]`,
)

/**
 * Whether JSON text may have a member with an error in it: a name of one with a value that is not null, or a name that is written
 * with escapes. An `error-text` counts only with a text as its value.
 */
export const mayHoldError = (json: string): boolean => errorMember.test(json)
