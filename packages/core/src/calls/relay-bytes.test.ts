import { describe, expect, it } from 'vitest'
import { createCanceller } from '../base/async.ts'
import { relayBytes } from './relay-bytes.ts'
import type { RelayEnd } from './relay-stream.ts'
import { createPump } from './response-body.ts'

const times = {
  idleMs: 10_000,
  startedAt: 0,
  totalUntil: Number.POSITIVE_INFINITY,
  clientStallMs: Number.POSITIVE_INFINITY,
}

/** Relays the chunks with a declared content length. */
async function relayed(length: number | undefined, chunks: readonly string[]) {
  async function* source(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield new TextEncoder().encode(chunk)
  }
  const ends: RelayEnd[] = []
  let text = ''
  let failure: unknown
  try {
    for await (const chunk of relayBytes(createPump(source()), length, times, createCanceller(), (end) =>
      ends.push(end),
    ))
      text += new TextDecoder().decode(chunk)
  } catch (error) {
    failure = error
  }
  return { text, failure, ends }
}

describe('relayed bytes', () => {
  it.each([
    ['are forwarded if they match the content length', 3, ['a', 'bc'], 'abc', undefined],
    ['are forwarded without a content length', undefined, ['a', 'bcd'], 'abcd', undefined],
    ['fail before the first byte beyond the content length', 3, ['ab', 'cd'], 'ab', 'upstream_bad_response'],
    ['fail if another chunk follows the content length', 3, ['abc', 'd'], 'abc', 'upstream_bad_response'],
    ['fail if they end before the content length', 3, ['ab'], 'ab', 'upstream_truncated'],
    ['fail if the body is empty despite a content length', 3, [], '', 'upstream_truncated'],
  ] as const)('%s', async (_, length, chunks, passed, kind) => {
    const { text, failure, ends } = await relayed(length, chunks)
    expect(text).toBe(passed)
    if (kind === undefined) expect([failure, ends]).toEqual([undefined, [{ outcome: 'finished' }]])
    else {
      expect(failure).toMatchObject({ info: { kind } })
      expect(ends).toEqual([{ outcome: 'failed', error: failure }])
    }
  })
})
