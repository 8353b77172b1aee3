import { createGateway, openai, type RealtimeSession } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { realtimePlaces } from '@modelgate/core/test-support'
import { declaredPlaces, variants } from './matrix.ts'

const upgrade: Readonly<Record<string, string>> = {
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  authorization: 'Bearer token',
}

/** Opens a session with an upstream that accepts everything. */
async function openSession(models: readonly string[] | undefined): Promise<RealtimeSession<string>> {
  const gateway = createGateway({
    auth: () => ({ id: 'me', ...(models === undefined ? {} : { models }) }),
    upstreams: { up: openai({ apiKey: 'k', baseURL: 'http://upstream.test/v1' }) },
    models: { listed: 'up' },
    // So that the names of models are the only reason to read messages.
    references: { prompts: 'pass', files: 'pass', voices: 'pass' },
    logger: false,
  })
  const inbound = {
    method: 'GET',
    path: '/v1/realtime',
    query: 'model=listed',
    header: (name: string) => upgrade[name],
    read: async () => new Uint8Array(0),
    signal: new AbortController().signal,
  }
  const opening = await adapterFunctions(gateway).realtime(inbound, async () => ({ socket: 'socket' }))
  if (!opening.ok) throw new Error(`the session was refused: ${opening.reply.status}`)
  if (opening.session === undefined) throw new Error('the session waits for a message')
  return opening.session
}

/** Sends every declared place in a client event, in every variant. Returns the number of cases and the faults. */
export async function realtimeCases(): Promise<{ readonly count: number; readonly faults: readonly string[] }> {
  const { readClient } = await openSession(['listed'])
  if (readClient === undefined) return { count: 1, faults: ['a limited caller’s messages are not checked'] }
  const faults: string[] = []
  let count = 0
  const { names } = realtimePlaces.list
  for (const place of declaredPlaces(realtimePlaces.list))
    for (const variant of variants) {
      const steps = place.split('.')
      const key = steps.at(-1) ?? ''
      const isName = names.some((name) => place.endsWith(name))
      const [good, bad] = isName ? ['"listed"', '"unlisted"'] : ['null', '"some"']
      const upper = key.charAt(0).toUpperCase() + key.slice(1)
      const member = {
        listed: `"${key}":${good}`,
        unlisted: `"${key}":${bad}`,
        duplicate: `"${key}":${bad},"${key}":${good}`,
        case: `"${upper}":${bad}`,
      }[variant]
      const inner = steps
        .slice(0, -1)
        .reverse()
        .reduce(
          (text, step) => `"${step.replace('[]', '')}":${step.endsWith('[]') ? `[{${text}}]` : `{${text}}`}`,
          member,
        )
      const read = readClient(`{"type":"session.update","event_id":"e1",${inner}}`, false)
      const answer = 'reply' in read ? read.reply : undefined
      const named = place.replaceAll('[]', '[0]').replace(/[^.]+$/, variant === 'case' ? upper : key)
      const right =
        variant === 'listed'
          ? answer === undefined
          : answer?.includes(place === 'model' ? 'odel' : `'${named}'`) === true && answer.includes('"e1"')
      count++
      if (!right) faults.push(`realtime: ${place} (${variant}): ${answer ?? 'passed on'}`)
    }
  const unlimited = await openSession(undefined)
  count++
  if (unlimited.readClient !== undefined)
    faults.push('the messages of a caller without a list are checked unnecessarily')
  return { count, faults }
}
