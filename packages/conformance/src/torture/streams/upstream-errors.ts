import { errorOf } from '../../base/client-events.ts'
import type { DialectError } from '../../base/client-formats.ts'
import { textOf } from '../../base/json.ts'
import { errorEvent, errorMessages, good, malformed } from '../../base/streams.ts'
import { beginStream, formatOf } from '../../base/upstream-responses.ts'
import type { Check, Pair } from '../check.ts'
import type { HttpResponse } from '../client.ts'
import { readError, readStream } from '../read-responses.ts'
import { type Break, breakAll, heldOf, throwsOf } from './broken-streams.ts'

/** Returns the error of a response, from its status or its stream. */
function toldIn({ client }: Pair, answer: HttpResponse): DialectError | undefined {
  if (answer.status !== 200) return readError(client, answer)
  return errorOf(client, readStream(client, answer.text))
}

/** Returns the field by which this dialect's clients distinguish kinds of errors. */
const kindOf = ({ client }: Pair, { type, code }: DialectError): string =>
  client === 'responses' ? textOf(code) : type

/** AWS's exceptions have other names in streams. */
const exceptionOfStatus: Readonly<Record<string, string>> = {
  modelStreamErrorException: 'ModelErrorException',
  serviceUnavailableException: 'ServiceUnavailableException',
}

function typeLost(pair: Pair, answer: HttpResponse): string | undefined {
  const reported = toldIn(pair, answer)
  if (reported === undefined) return `no error in the dialect: ${answer.text.slice(-200)}`
  if (!reported.message.includes('Boom at the provider')) return `the upstream's message is lost: ${reported.message}`
  const kind = kindOf(pair, reported)
  const inStream = errorMessages[pair.client](pair.upstream)
  const due = answer.status === 200 ? inStream : (exceptionOfStatus[inStream] ?? inStream)
  return kind === due ? undefined : `'${kind}' instead of '${due}'`
}

/** After every number of events except all. */
const errorEvents: readonly Break[] = [0, 1, 2, 3, 4].map((count) => ({
  name: `an error event after ${count} others`,
  stream: true,
  play(call) {
    const format = formatOf(call)
    beginStream(call)
    for (const event of good[format].slice(0, count)) call.response.write(event)
    call.response.end(errorEvent[format])
  },
  wrong: typeLost,
}))

export const errorMidStream: Check = {
  row: 5,
  group: 'Streams',
  title: 'Upstream error event mid-stream',
  promise: 'reaches the client as an error with its type, 100 % of all pairs',
  async run(setting) {
    const breaking = await breakAll(setting, errorEvents, {
      rounds: setting.count(10, 1),
      official: setting.count(100, 4 * errorEvents.length),
    })
    const { total, reported, notes } = breaking
    return {
      held: heldOf(breaking),
      figure:
        `${reported}/${total} reached the client with their type, over ${setting.target.pairs.length} pairs; ` +
        `official SDKs threw: ${throwsOf(breaking)}`,
      notes,
    }
  },
}

/** Requires that all events except the error stay readable. */
function unreadable({ client }: Pair, answer: HttpResponse): string | undefined {
  if (answer.status !== 200) return undefined
  const { broken, text } = readStream(client, answer.text)
  if (broken.length > 0) return `${broken.length} events do not parse`
  return text.startsWith('one') ? undefined : `the text before it is lost: '${text}'`
}

const malformedEvents: readonly Break[] = [2, 3].map((count) => ({
  name: `a malformed event after ${count} others`,
  stream: true,
  play(call) {
    const format = formatOf(call)
    const events = good[format]
    beginStream(call)
    for (const event of [...events.slice(0, count), malformed[format], ...events.slice(count)])
      call.response.write(event)
    call.response.end()
  },
  wrong: unreadable,
}))

export const malformedEvent: Check = {
  row: 6,
  group: 'Streams',
  title: 'Malformed event in the middle',
  promise: 'same as 4; all other bytes parse',
  async run(setting) {
    const breaking = await breakAll(setting, malformedEvents, {
      rounds: setting.count(25, 2),
      official: setting.count(100, 8),
    })
    const { total, reported, notes } = breaking
    return {
      held: heldOf(breaking),
      figure: `${reported}/${total} reported as one error, all else parses; official SDKs threw: ${throwsOf(breaking)}`,
      notes,
    }
  },
}
