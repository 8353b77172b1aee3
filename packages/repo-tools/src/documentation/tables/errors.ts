import {
  type Attempt,
  anthropic,
  bedrock,
  createGateway,
  type ErrorKind,
  GatewayError,
  gemini,
  openaiCompatible,
  type Upstream,
} from '@modelgate/core'
import { clientCodecs, codecs, errorKinds, errorReply, type RetryScope, retryScope } from '@modelgate/core/test-support'
import { table } from '../markdown-table.ts'

const words = {
  'same-target': 'same or other target',
  'other-target': 'other target',
  none: 'none',
} satisfies Record<RetryScope, string>

/** Returns the table of error kinds: the client's response, and whether the gateway tries another target. */
export function kindTable(): string {
  const kinds = Object.keys(errorKinds) as ErrorKind[]
  const cells = kinds.map((kind) => {
    const failure = new GatewayError(kind, '')
    const replies = clientCodecs.map((codec) => errorReply(failure, codec, ''))
    const answers = replies.map(({ status, headers, body }) => {
      // AWS names the exception in a header.
      const { error = { type: headers['x-amzn-errortype'] } } = JSON.parse(String(body))
      const { type, status: word, code, details } = error
      const reason = Array.isArray(details) ? details.find((detail) => detail.reason)?.reason : undefined
      const more = typeof code === 'string' ? `, code \`${code}\`` : reason ? `, reason \`${reason}\`` : ''
      const name: unknown = type ?? word
      // Ollama's errors consist of a message.
      return typeof name === 'string' ? `${status} \`${name}\`${more}` : String(status)
    })
    const headerValues = (name: string): string =>
      [...new Set(replies.map(({ headers }) => headers[name] ?? ''))].join(' or ')
    return [
      `\`${kind}\``,
      ...answers,
      headerValues('retry-after'),
      headerValues('x-should-retry'),
      words[retryScope(failure)],
    ]
  })
  const head = [
    ...clientCodecs.map(({ format }) => `${format} client`),
    '`retry-after`',
    '`x-should-retry`',
    'next attempt',
  ]
  return table(['kind', ...head], ...cells)
}

const baseURL = 'https://upstream.test'
const speaking: Readonly<Record<string, () => Upstream>> = {
  chat: () => openaiCompatible({ baseURL, formats: ['chat'] }),
  messages: () => anthropic({ baseURL, apiKey: 'any' }),
  gemini: () => gemini({ baseURL, apiKey: 'any' }),
  responses: () => openaiCompatible({ baseURL, formats: ['responses'] }),
  converse: () => bedrock({ baseURL, region: 'us-east-1', apiKey: 'any', formats: ['converse'] }),
}

/** Returns the attempts of a call to two upstreams that respond with a bare status. */
async function attemptsAt(status: number, upstream: Upstream): Promise<readonly Attempt[]> {
  const attempts: Attempt[] = []
  const gateway = createGateway({
    auth: 'none',
    upstreams: { one: upstream, two: upstream },
    models: { any: ['one', 'two'] },
    retry: { backoffMs: 1 },
    logger: false,
    plugins: [{ name: 'see', onFinish: (event) => void attempts.push(...event.attempts) }],
    fetch: async () => Response.json({ error: { message: 'Something.' } }, { status }),
  })
  const body = JSON.stringify({ model: 'any', messages: [{ role: 'user', content: 'Hello' }] })
  const headers = { 'content-type': 'application/json' }
  const response = await gateway.fetch(
    new Request('https://gateway.test/v1/chat/completions', { method: 'POST', headers, body }),
  )
  await response.text()
  await gateway.close()
  return attempts
}

const goesOn = (attempts: readonly Attempt[]): string =>
  words[attempts.length === 1 ? 'none' : attempts[1]?.reason === 'retry' ? 'same-target' : 'other-target']

const statuses = [307, 400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 422, 429, 500, 501, 502, 503, 504, 529]

/** Returns the table of upstream statuses: error kind and next attempt, as measured. */
export async function statusTable(): Promise<string> {
  const cells = await Promise.all(
    statuses.map(async (status) => {
      const calls = await Promise.all(
        codecs.map(({ format }) => {
          const upstream = speaking[format]?.()
          if (upstream === undefined) throw new Error(`say here which upstream speaks ${format}`)
          return attemptsAt(status, upstream)
        }),
      )
      const kinds = calls.map(([first]) => `\`${first?.error}\``)
      return [String(status), ...kinds, [...new Set(calls.map(goesOn))].join(' or ')]
    }),
  )
  return table(['status', ...codecs.map(({ format }) => `from a ${format} upstream`), 'next attempt'], ...cells)
}
