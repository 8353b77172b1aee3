import { type Context, mustHaveToken } from './context.ts'
import type { Dialect } from './dialect.ts'
import { bodyWith } from './dialects.ts'
import { must, shown } from './expectations.ts'
import type { Feature } from './features.ts'
import { names, type Refusal, refusalIn, refusalOf, toldBy } from './rejection.ts'

export const unknownModel = 'conformance-no-such-model'

/** Returns the SDK's exception; the check fails without one, or with one that is no response. */
export async function refused(call: Promise<unknown>, expected: string): Promise<Refusal> {
  try {
    await call
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal === undefined) throw error
    return refusal
  }
  must(false, `it was answered, though ${expected}`)
  throw new Error('unreachable')
}

function typed(refusal: Refusal, dialect: Dialect, kind: keyof Dialect['errors']): void {
  const { statuses, thrown } = dialect.errors[kind]
  must(statuses.includes(refusal.status), `expected status ${statuses.join(' or ')}; ${toldBy(refusal)}`)
  must(thrown.split(' ').includes(refusal.thrown), `the SDK threw ${refusal.thrown}, not ${thrown}; ${toldBy(refusal)}`)
}

const rawly = async (context: Context, dialect: Dialect, more: Parameters<typeof bodyWith>[2]): Promise<Response> => {
  const model = context.model(dialect.format)
  return context.post(dialect.format, dialect.path(model), bodyWith(dialect, model, more))
}

/** Expected failures. */
export const failing: readonly Feature[] = [
  {
    feature: 'wrong token',
    proves: 'A token that nobody knows is refused with the format’s own error of authentication.',
    calls: 1,
    async run(context, dialect) {
      mustHaveToken(context)
      const call = dialect.ask(context.strangers, context.model(dialect.format))
      typed(await refused(call, 'nobody knows the token'), dialect, 'token')
    },
  },
  {
    feature: 'unknown model',
    proves: 'A model that does not exist is refused as such, by its name.',
    calls: 1,
    async run(context, dialect) {
      const refusal = await refused(dialect.ask(context, unknownModel), 'there is no such model')
      typed(refusal, dialect, 'model')
      must(names(refusal, unknownModel), `the model is not named; ${toldBy(refusal)}`)
    },
  },
  {
    feature: 'bad value',
    proves: 'A value out of its bounds is refused, and the error names the field.',
    calls: 1,
    async run(context, dialect) {
      const call = dialect.ask(context, context.model(dialect.format), 99)
      const refusal = await refused(call, 'a temperature of 99 is out of bounds')
      typed(refusal, dialect, 'value')
      must(names(refusal, 'temperature'), `the field is not named; ${toldBy(refusal)}`)
    },
  },
  {
    feature: 'missing field',
    proves: 'A request without its essential field is refused, and the error names what is missing.',
    calls: 1,
    async run(context, dialect) {
      const model = context.model(dialect.format)
      const { [dialect.essential]: _, ...body } = dialect.body(model)
      const refusal = await refusalIn(await context.post(dialect.format, dialect.path(model), body))
      must(refusal.status === 400 || refusal.status === 422, `expected status 400; ${toldBy(refusal)}`)
      must(names(refusal, dialect.essential), `'${dialect.essential}' is not named; ${toldBy(refusal)}`)
    },
  },
  {
    feature: 'unknown field',
    proves: 'A field that nobody knows is passed over or refused by its name, and breaks nothing.',
    calls: 1,
    async run(context, dialect) {
      const field = 'conformance_unknown'
      const answer = await rawly(context, dialect, { [field]: 1 })
      if (answer.ok) return
      const refusal = await refusalIn(answer)
      must(refusal.status === 400 || refusal.status === 422, `expected an answer, or status 400; ${toldBy(refusal)}`)
      must(names(refusal, field), `the field is not named; ${toldBy(refusal)}`)
    },
  },
  {
    feature: 'broken JSON',
    proves: 'A body that is no JSON is refused as the client’s fault, in the format’s own shape.',
    calls: 1,
    async run(context, dialect) {
      const answer = await context.post(dialect.format, dialect.path(context.model(dialect.format)), '{"model": ')
      const refusal = await refusalIn(answer)
      must(refusal.status === 400 || refusal.status === 422, `expected status 400; ${toldBy(refusal)}`)
      const lacks = dialect.errorLacks(refusal)
      must(lacks === undefined, () => `the body lacks ${lacks}: ${shown(refusal.body)}`)
    },
  },
  {
    feature: 'error body',
    proves: 'An error has the body that the format gives it, as JSON.',
    calls: 1,
    async run(context, dialect) {
      const body = bodyWith(dialect, unknownModel, {})
      const answer = await context.post(dialect.format, dialect.path(unknownModel), body)
      const refusal = await refusalIn(answer)
      must(!answer.ok, 'it was answered, though there is no such model')
      const type = answer.headers.get('content-type') ?? 'none'
      must(type.startsWith('application/json'), `the content type is ${type}`)
      const lacks = dialect.errorLacks(refusal)
      must(lacks === undefined, () => `the body lacks ${lacks}: ${shown(refusal.body)}`)
    },
  },
  {
    feature: 'request id',
    in: ({ idHeader }) => idHeader !== undefined,
    proves: 'An answer carries an id to quote, where the SDK looks for it.',
    calls: 1,
    async run(context, dialect) {
      await dialect.ask(context, context.model(dialect.format))
      const wanted = dialect.idHeader ?? ''
      must((context.last().get(wanted) ?? '') !== '', `the header ${wanted} is not there`)
    },
  },
  {
    feature: 'leaving',
    proves: 'A client that leaves a stream leaves the server well: the next call is answered.',
    calls: 2,
    async run(context, dialect) {
      const model = context.model(dialect.format)
      await dialect.leave(context, model)
      await dialect.ask(context, model)
    },
  },
]
