import type { FetchedMedia, Identity } from '@modelgate/core'
import { afterLateness, type Cell, firstByteMs, type Subject } from './behaviours.ts'
import { complainIf, notRefused, notServed, requestFor, send, sendAll, type World, worldWith } from './world.ts'

/**
 * Calls every format, unstreamed and streamed: served if the function allows it, otherwise rejected without an upstream
 * call.
 */
async function allOrNone(
  { works }: Cell,
  { gateway, sent }: World,
  statuses: readonly number[],
): Promise<readonly string[]> {
  const replies = await sendAll(gateway)
  if (works) return notServed(replies)
  return [...notRefused(replies, statuses), ...complainIf(sent.length > 0, `${sent.length} calls reached the upstream`)]
}

const image = {
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://images.test/a.png' } }] }],
}
const png: FetchedMedia = { bytes: new Uint8Array([0x89, 0x50, 0x4e, 0x47]), mediaType: 'image/png' }

const askWithImage = ({ gateway }: World) =>
  send(gateway, requestFor('chat', { model: 'gemini-model', more: image }), 'chat')

export const deciderSubjects = [
  {
    name: 'auth',
    awaited: true,
    garbage: [true, 'me', 1, {}, [], { id: '' }, { id: 5 }, { id: 'me', models: '*' }, { id: 'me', onLoss: 'warn' }],
    attempt: (cell) => allOrNone(cell, worldWith({ auth: cell.misbehave((): Identity => ({ id: 'me' })) }), [401, 500]),
  },
  {
    name: 'admit',
    awaited: true,
    garbage: [true, false, 'yes', 5, [], { headers: { a: 5 } }, { headers: { 'no name': 'x' } }],
    async attempt(cell) {
      let admitted = 0
      let settled = 0
      const admit = cell.misbehave(() => {
        admitted++
        return { settle: () => void settled++ }
      })
      const complaints = await allOrNone(cell, worldWith({ plugins: [{ name: 'gate', admit }] }), [500])
      if (cell.behaviour === 'resolves late') await afterLateness()
      return [...complaints, ...complainIf(admitted !== settled, `${admitted} admissions, ${settled} settled`)]
    },
  },
  {
    name: 'explain',
    awaited: true,
    garbage: [1, 'yes', {}, []],
    async attempt({ works, misbehave }) {
      const { gateway, sent } = worldWith({ explain: misbehave(() => true) })
      const replies = await Promise.all(
        (['chat', 'messages', 'responses', 'gemini'] as const).map((format) =>
          send(gateway, requestFor(format, { query: 'modelgate=explain' }), format),
        ),
      )
      return [
        ...(works
          ? complainIf(
              replies.some(({ status }) => status !== 200),
              'explain returned no plan',
            )
          : notRefused(replies, [403, 500])),
        ...complainIf(sent.length > 0, 'an upstream call was made'),
      ]
    },
  },
  {
    name: 'when',
    awaited: false,
    garbage: [1, 'yes', {}, []],
    async attempt({ misbehave }) {
      const when = misbehave(() => true)
      const models = { 'chat-model': [{ upstream: 'messages', when }, 'chat'] }
      const { gateway, sent, logged } = worldWith({ models })
      const replies = await Promise.all(
        [false, true].map((stream) => send(gateway, requestFor('chat', { stream }), 'chat')),
      )
      return [
        ...notServed(replies),
        ...complainIf(
          sent.some(({ url }) => url.includes('//messages')),
          'the target was called',
        ),
        ...complainIf(!logged.some((line) => line.includes('`when`')), 'nothing was logged about `when`'),
      ]
    },
  },
  {
    name: 'media.allows',
    awaited: true,
    garbage: [1, 'yes', {}, []],
    async attempt({ works, misbehave }) {
      let fetched = 0
      const allows = misbehave(() => true)
      const fetch = async (): Promise<FetchedMedia> => {
        fetched++
        return png
      }
      const world = worldWith({ media: { allows, fetch } })
      const reply = await askWithImage(world)
      return [...notServed([reply]), ...complainIf(fetched !== (works ? 1 : 0), `${fetched} URLs were fetched`)]
    },
  },
  {
    name: 'media.fetch',
    awaited: true,
    garbage: [undefined, null, {}, 'x', { bytes: 'x', mediaType: 'image/png' }, { bytes: png.bytes, mediaType: 5 }],
    async attempt({ works, misbehave }) {
      const world = worldWith({ media: { allows: () => true, fetch: misbehave(() => png) }, limits: { firstByteMs } })
      const reply = await askWithImage(world)
      const inline = world.sent.some(({ body }) => body.includes('inlineData'))
      return [
        ...notServed([reply]),
        ...complainIf(inline !== works, works ? 'the image was not sent as data' : 'garbage was sent as data'),
      ]
    },
  },
  {
    name: 'tokenizer',
    awaited: true,
    garbage: [undefined, null, Number.NaN, -1, Number.POSITIVE_INFINITY, 'x', {}],
    async attempt({ works, misbehave }) {
      const { gateway } = worldWith({ tokenizer: misbehave(() => 7) })
      const request = new Request(
        'http://gateway/v1/messages/count_tokens',
        requestFor('messages', { model: 'chat-model' }),
      )
      const { status, headers, text } = await send(gateway, request, 'messages')
      const by = headers.get('modelgate-estimate')
      const wanted = `tokens;by="${works ? 'custom' : 'characters'}"`
      return complainIf(status !== 200 || by !== wanted, `${status}, estimated by ${by}: ${text.slice(0, 100)}`)
    },
  },
] as const satisfies readonly Subject[]
