import { memoryResponseStore, type ResponseStore, type Spool } from '@modelgate/core'
import type { Cell, Subject } from './behaviours.ts'
import {
  type ClientResponse,
  complainIf,
  fetchOver,
  notRefused,
  notServed,
  requestFor,
  respondTo,
  type Sent,
  send,
  type World,
  worldWith,
} from './world.ts'

const own = { authorization: 'Bearer token', 'content-type': 'application/json' }

const create = ({ gateway }: World, more: object = {}): Promise<ClientResponse> =>
  send(gateway, requestFor('responses', { model: 'messages-model', more }), 'responses')

const about = ({ gateway }: World, method: string, id: string): Promise<ClientResponse> =>
  send(gateway, new Request(`http://gateway/v1/responses/${id}`, { method, headers: own }), 'responses')

const worldOver = (part: Partial<ResponseStore>): World =>
  worldWith({ responses: { store: { ...memoryResponseStore(), ...part } } })

const idOf = ({ text }: ClientResponse): string => (JSON.parse(text) as { id: string }).id

const pieceBytes = 64

/** Creates a spool in memory with one of its functions replaced. */
function spoolWith(part: Partial<Spool>): Spool {
  const chunks: Uint8Array[] = []
  return {
    write: (chunk) => void chunks.push(chunk.slice()),
    async *read(start, end) {
      const all = Buffer.concat(chunks)
      for (let at = start; at < end; at += pieceBytes) yield all.subarray(at, Math.min(end, at + pieceBytes))
    },
    close() {},
    ...part,
  }
}

async function upload(spool: () => Spool): Promise<{ readonly reply: ClientResponse; readonly received: string }> {
  const sent: Sent[] = []
  let received = ''
  const { gateway } = worldWith({
    spool,
    fetch: fetchOver(sent, (call) => {
      received = call.body
      return respondTo(call)
    }),
  })
  const form = new FormData()
  form.set('model', 'chat-model')
  form.set('file', new File(['sound '.repeat(50)], 'a.mp3', { type: 'audio/mpeg' }))
  const request = new Request('http://gateway/v1/audio/transcriptions', {
    method: 'POST',
    headers: { authorization: own.authorization },
    body: form,
  })
  return { reply: await send(gateway, request, 'chat'), received }
}

const isWhole = ({ received }: { readonly received: string }): boolean => received.includes('sound '.repeat(50))

const servedOrRefused = ({ works }: Cell, reply: ClientResponse): readonly string[] =>
  works ? notServed([reply]) : notRefused([reply], [500])

export const stateSubjects = [
  {
    name: 'store.get',
    awaited: true,
    garbage: [5, true, {}, [], 'no JSON', '{}', 'null'],
    async attempt(cell) {
      const store = memoryResponseStore()
      const world = worldOver({ ...store, get: cell.misbehave((key: string) => store.get(key)) })
      const id = idOf(await create(world))
      const replies = [await create(world, { previous_response_id: id }), await about(world, 'GET', id)]
      if (!cell.works) return notRefused(replies, [500])
      return notServed(replies)
    },
  },
  {
    name: 'store.set',
    awaited: true,
    garbage: [5, true, {}, []],
    async attempt(cell) {
      const store = memoryResponseStore()
      const world = worldOver({
        ...store,
        set: cell.misbehave((...args: Parameters<typeof store.set>) => store.set(...args)),
      })
      const reply = await create(world)
      const { store: reported } = JSON.parse(reply.text) as { store: boolean }
      const isGarbage = cell.behaviour.endsWith('garbage')
      return [
        ...notServed([reply]),
        // The result of a store's `set` has no meaning, only its failure.
        ...complainIf(!isGarbage && reported !== cell.works, `the response has store: ${reported}`),
      ]
    },
  },
  {
    name: 'store.delete',
    awaited: true,
    garbage: [5, true, {}, []],
    async attempt(cell) {
      const store = memoryResponseStore()
      const world = worldOver({ ...store, delete: cell.misbehave((key: string) => store.delete(key)) })
      const reply = await about(world, 'DELETE', idOf(await create(world)))
      if (cell.works || cell.behaviour.endsWith('garbage'))
        return complainIf(reply.status !== 200, `status ${reply.status}`)
      return notRefused([reply], [500])
    },
  },
  {
    name: 'spool',
    awaited: false,
    garbage: [{}, 'x', 5, []],
    async attempt(cell) {
      const { reply } = await upload(cell.misbehave(() => spoolWith({})))
      return servedOrRefused(cell, reply)
    },
  },
  {
    name: 'spool.write',
    awaited: true,
    garbage: [5, true, {}, []],
    async attempt(cell) {
      const inner = spoolWith({})
      const came = await upload(() => ({ ...inner, write: cell.misbehave((chunk: Uint8Array) => inner.write(chunk)) }))
      // The result has no meaning: garbage cannot be distinguished from a valid one.
      if (cell.behaviour.endsWith('garbage')) return []
      return [
        ...servedOrRefused(cell, came.reply),
        ...complainIf(isWhole(came) !== cell.works, 'the upload is incorrect'),
      ]
    },
  },
  {
    name: 'spool.read',
    awaited: true,
    garbage: [undefined, null, 5, 'x', {}, { done: false, value: 'text' }],
    async attempt(cell) {
      const inner = spoolWith({})
      const read: Spool['read'] = (start, end) => {
        const source = inner.read(start, end)[Symbol.asyncIterator]()
        return { [Symbol.asyncIterator]: () => ({ next: cell.misbehave(() => source.next()) }) }
      }
      const came = await upload(() => ({ ...inner, read }))
      return [
        ...servedOrRefused(cell, came.reply),
        ...complainIf(isWhole(came) !== cell.works, 'the upload is incorrect'),
      ]
    },
  },
  {
    name: 'spool.close',
    awaited: true,
    garbage: [5, true, {}, []],
    async attempt(cell) {
      const came = await upload(() => spoolWith({ close: cell.misbehave(() => undefined) }))
      return [...notServed([came.reply]), ...complainIf(!isWhole(came), 'the upload is incomplete')]
    },
  },
] as const satisfies readonly Subject[]
