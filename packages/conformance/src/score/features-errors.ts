import { type Context, requireToken } from './context.ts'
import type { Dialect } from './dialect.ts'
import { bodyWith } from './dialects.ts'
import { formatValue, must } from './expectations.ts'
import type { Feature } from './features.ts'
import { describeRejection, namesField, type Rejection, readRejection, rejectionOf } from './rejection.ts'

export const unknownModel = 'conformance-no-such-model'

/** Returns the error response of a call. The check fails if the call succeeds; other exceptions are rethrown. */
export async function expectRejection(call: Promise<unknown>, expected: string): Promise<Rejection> {
  try {
    await call
  } catch (error) {
    const refusal = rejectionOf(error)
    if (refusal === undefined) throw error
    return refusal
  }
  must(false, `the call succeeded although ${expected}`)
  throw new Error('unreachable')
}

function typed(refusal: Rejection, dialect: Dialect, kind: keyof Dialect['errors']): void {
  const { statuses, thrown } = dialect.errors[kind]
  must(statuses.includes(refusal.status), `expected status ${statuses.join(' or ')}; ${describeRejection(refusal)}`)
  must(
    thrown.split(' ').includes(refusal.thrown),
    `the SDK threw ${refusal.thrown}, expected ${thrown}; ${describeRejection(refusal)}`,
  )
}

const rawly = async (context: Context, dialect: Dialect, more: Parameters<typeof bodyWith>[2]): Promise<Response> => {
  const model = context.model(dialect.format)
  return context.post(dialect.format, dialect.path(model), bodyWith(dialect, model, more))
}

/** Checks of errors. */
export const errorFeatures: readonly Feature[] = [
  {
    feature: 'wrong token',
    proves: 'An unknown token is rejected with the format’s authentication error.',
    calls: 1,
    async run(context, dialect) {
      requireToken(context)
      const call = dialect.ask(context.unknownTokenClients, context.model(dialect.format))
      typed(await expectRejection(call, 'the token is unknown'), dialect, 'token')
    },
  },
  {
    feature: 'unknown model',
    proves: 'An unknown model is rejected with an error that names it.',
    calls: 1,
    async run(context, dialect) {
      const refusal = await expectRejection(dialect.ask(context, unknownModel), 'the model does not exist')
      typed(refusal, dialect, 'model')
      must(namesField(refusal, unknownModel), `the error does not name the model; ${describeRejection(refusal)}`)
    },
  },
  {
    feature: 'bad value',
    proves: 'A value out of range is rejected with an error that names the field.',
    calls: 1,
    async run(context, dialect) {
      const call = dialect.ask(context, context.model(dialect.format), 99)
      const refusal = await expectRejection(call, 'a temperature of 99 is out of range')
      typed(refusal, dialect, 'value')
      must(namesField(refusal, 'temperature'), `the error does not name the field; ${describeRejection(refusal)}`)
    },
  },
  {
    feature: 'missing field',
    proves: 'A request without its required field is rejected with an error that names the field.',
    calls: 1,
    async run(context, dialect) {
      const model = context.model(dialect.format)
      const { [dialect.essential]: _, ...body } = dialect.body(model)
      const refusal = await readRejection(await context.post(dialect.format, dialect.path(model), body))
      must(refusal.status === 400 || refusal.status === 422, `expected status 400; ${describeRejection(refusal)}`)
      must(
        namesField(refusal, dialect.essential),
        `the error does not name '${dialect.essential}'; ${describeRejection(refusal)}`,
      )
    },
  },
  {
    feature: 'unknown field',
    proves: 'An unknown field is ignored or rejected by name.',
    calls: 1,
    async run(context, dialect) {
      const field = 'conformance_unknown'
      const answer = await rawly(context, dialect, { [field]: 1 })
      if (answer.ok) return
      const refusal = await readRejection(answer)
      must(
        refusal.status === 400 || refusal.status === 422,
        `expected a response or status 400; ${describeRejection(refusal)}`,
      )
      must(namesField(refusal, field), `the error does not name the field; ${describeRejection(refusal)}`)
    },
  },
  {
    feature: 'broken JSON',
    proves: 'A body of invalid JSON is rejected as a client error in the format’s own shape.',
    calls: 1,
    async run(context, dialect) {
      const answer = await context.post(dialect.format, dialect.path(context.model(dialect.format)), '{"model": ')
      const refusal = await readRejection(answer)
      must(refusal.status === 400 || refusal.status === 422, `expected status 400; ${describeRejection(refusal)}`)
      const lacks = dialect.errorLacks(refusal)
      must(lacks === undefined, () => `the error body lacks ${lacks}: ${formatValue(refusal.body)}`)
    },
  },
  {
    feature: 'error body',
    proves: 'Errors have the format’s error body, as JSON.',
    calls: 1,
    async run(context, dialect) {
      const body = bodyWith(dialect, unknownModel, {})
      const answer = await context.post(dialect.format, dialect.path(unknownModel), body)
      const refusal = await readRejection(answer)
      must(!answer.ok, 'the call succeeded although the model does not exist')
      const type = answer.headers.get('content-type') ?? 'none'
      must(type.startsWith('application/json'), `the content type is ${type}`)
      const lacks = dialect.errorLacks(refusal)
      must(lacks === undefined, () => `the error body lacks ${lacks}: ${formatValue(refusal.body)}`)
    },
  },
  {
    feature: 'request id',
    in: ({ idHeader }) => idHeader !== undefined,
    proves: 'Responses have the request id header that the SDK reads.',
    calls: 1,
    async run(context, dialect) {
      await dialect.ask(context, context.model(dialect.format))
      const wanted = dialect.idHeader ?? ''
      must((context.last().get(wanted) ?? '') !== '', `the header ${wanted} is missing`)
    },
  },
  {
    feature: 'leaving',
    proves: 'After a client aborts a stream, the server handles the next call.',
    calls: 2,
    async run(context, dialect) {
      const model = context.model(dialect.format)
      await dialect.leave(context, model)
      await dialect.ask(context, model)
    },
  },
]
