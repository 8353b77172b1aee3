import type { CallSummary, RecentCallDetails } from '@modelgate/console'
import { readEnvFile } from '../config/env-file.ts'
import { flag, readArgs, rejectExtraArguments, text, textOf } from '../terminal/args.ts'
import type { CommandContext, Env } from '../terminal/command-context.ts'
import { codeOf, UsageError } from '../terminal/errors.ts'
import { callLine } from './call-line.ts'

/** Wait before a lost connection is opened again. */
const reconnectMs = 1000
/** Number of printed calls that are remembered, so that a new connection does not print them again. */
const remembered = 1000

const filters = ['token', 'model', 'upstream', 'status'] as const

/** Runs `modelgate calls`: prints the recent calls of a running server. With `--follow` it ends only by a signal or a failure. */
export async function calls(args: string[], context: CommandContext, signal?: AbortSignal): Promise<number> {
  const options = {
    token: text,
    model: text,
    upstream: text,
    status: text,
    url: text,
    last: text,
    follow: flag,
    json: flag,
  }
  const { values, positionals } = readArgs(args, options, 'calls')
  rejectExtraArguments(positionals, 'calls')
  readEnvFile(context)
  const server = serverOf(textOf(values.url), context.env)
  const last = textOf(values.last) ?? '50'
  const chosen = filters.flatMap((name): string[][] => {
    const value = textOf(values[name])
    return value === undefined ? [] : [[name, value]]
  })
  const print = async (call: CallSummary): Promise<void> => {
    if (values.json !== true) context.out(callLine(call))
    else context.out(JSON.stringify((await detailsOf(server, call, signal)) ?? call))
  }
  if (values.follow !== true) {
    const query = new URLSearchParams([...chosen, ['limit', last]])
    const response = await ask(server, `?${query}`, signal)
    const page = (await response.json()) as { calls: readonly CallSummary[] }
    for (const call of [...page.calls].reverse()) await print(call)
    return 0
  }
  const printed = new Set<string>()
  const query = `/stream?${new URLSearchParams([...chosen, ['last', last]])}`
  // A server that is not there at first is an error, one that goes away later is not.
  let response: Response | undefined = await ask(server, query, signal)
  while (!signal?.aborted) {
    if (response !== undefined) await readCalls(response, (call) => printNew(call, printed, print)).catch(() => {})
    if (signal?.aborted) break
    if (response !== undefined) context.err('The connection was closed. Connecting again.')
    await new Promise((resolve) => setTimeout(resolve, reconnectMs))
    response = await ask(server, query, signal).catch((error: unknown) => {
      if (error instanceof RejectedError) throw error
      return undefined
    })
  }
  return 0
}

async function printNew(
  call: CallSummary,
  printed: Set<string>,
  print: (call: CallSummary) => Promise<void>,
): Promise<void> {
  if (printed.has(call.requestId)) return
  await print(call)
  printed.add(call.requestId)
  const [oldest] = printed
  if (printed.size > remembered && oldest !== undefined) printed.delete(oldest)
}

/** Returns a call with its attempts, losses and bodies; undefined if the server no longer stores it. */
async function detailsOf(
  server: Server,
  { requestId }: CallSummary,
  signal: AbortSignal | undefined,
): Promise<RecentCallDetails | undefined> {
  const response = await ask(server, `/${encodeURIComponent(requestId)}`, signal, [404])
  return response.ok ? ((await response.json()) as RecentCallDetails) : undefined
}

interface Server {
  readonly url: string
  readonly token: string
}

function serverOf(url: string | undefined, env: Env): Server {
  const token = env.MODELGATE_ADMIN_TOKEN
  if (!token) throw new UsageError('MODELGATE_ADMIN_TOKEN is not set: set it as for the server.', 'calls')
  const given = url ?? `http://127.0.0.1:${env.PORT || 8787}`
  if (!URL.canParse(given) || !/^https?:/.test(given))
    throw new UsageError(`Invalid --url '${given}': write it as http://127.0.0.1:8787.`, 'calls')
  return { url: given.replace(/\/+$/, ''), token }
}

/** The server responded with an error. */
class RejectedError extends Error {}

/** @param accepted statuses of errors that are returned. All others are thrown */
async function ask(
  { url, token }: Server,
  path: string,
  signal: AbortSignal | undefined,
  accepted: readonly number[] = [],
): Promise<Response> {
  const response = await fetch(`${url}/console/api/calls${path}`, {
    headers: { authorization: `Bearer ${token}` },
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    const cause = error instanceof Error ? error.cause : undefined
    throw new Error(
      `The server at ${url} could not be reached${codeOf(cause) === undefined ? '' : ` (${codeOf(cause)})`}.`,
    )
  })
  if (response.ok || accepted.includes(response.status)) return response
  if (response.status === 401)
    throw new RejectedError('The server rejected MODELGATE_ADMIN_TOKEN: set it as for the server.')
  if (response.status === 404)
    throw new RejectedError(
      `The server at ${url} keeps no recent calls: start it with MODELGATE_ADMIN_TOKEN, and check --url.`,
    )
  const body = (await response.json().catch(() => undefined)) as { error?: { message?: unknown } } | undefined
  const message = body?.error?.message
  throw new RejectedError(
    typeof message === 'string' ? message : `The server responded with status ${response.status}.`,
  )
}

/** Reads calls from server-sent events, each of which is one line. */
async function readCalls({ body }: Response, onCall: (call: CallSummary) => Promise<void>): Promise<void> {
  if (body === null) return
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines)
      if (line.startsWith('data: ')) await onCall(JSON.parse(line.slice('data: '.length)) as CallSummary)
  }
}
