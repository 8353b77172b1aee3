import { Router } from 'express'
import { tokensPage } from './pages.js'

/** Limits of each token. */
const settings = {
  limits: { requests: 60, concurrent: 4 },
  budget: { tokens: 1_000_000, period: /** @type {const} */ ('month') },
}
/** Maximum number of tokens that a user can issue per month. */
const mostTokens = 3

/**
 * Routes for a user's own tokens: list, issue, rotate, revoke.
 * @param {import('@modelgate/tokens').Tokens} tokens @param {string | undefined} publicUrl address of this app for users; default: from the request
 */
export function tokenRoutes(tokens, publicUrl) {
  const router = Router()
  /** Last pending operation of each user. @type {Map<string, Promise<unknown>>} */
  const turns = new Map()

  /** Serializes a user's operations: two at once could both take the last allowed token. @template T @param {string} owner @param {() => Promise<T>} work */
  async function inTurn(owner, work) {
    const turn = (turns.get(owner) ?? Promise.resolve()).then(work, work)
    turns.set(owner, turn)
    try {
      return await turn
    } finally {
      if (turns.get(owner) === turn) turns.delete(owner)
    }
  }

  /**
   * Returns tokens that count for this month: valid ones and those revoked in it. Otherwise a user could revoke an exhausted token
   * and issue another one with a new budget.
   * @param {string} owner
   */
  async function tokensOfThisMonth(owner) {
    const now = new Date()
    const firstDay = Date.UTC(now.getUTCFullYear(), now.getUTCMonth())
    const { tokens: all } = await tokens.list({ owner, limit: 1000 })
    return all.filter(({ revokedAt }) => revokedAt === undefined || revokedAt >= firstDay)
  }

  /** @param {import('express').Request} req @param {import('express').Response} res @param {{ secret?: string, wrong?: string }} [notices] */
  async function show(req, res, notices = {}) {
    const mine = await tokensOfThisMonth(res.locals.userId)
    const rows = await Promise.all(mine.map(async (token) => ({ token, usage: await tokens.usage(token.id) })))
    const root = publicUrl?.replace(/\/$/, '') ?? `${req.protocol}://${req.get('host')}`
    res.send(tokensPage({ ...notices, name: res.locals.userName, root, rows, left: mostTokens - mine.length }))
  }

  /** Responds to another user's token as to an unknown one. @param {import('express').Request} req @param {import('express').Response} res */
  async function mine(req, res) {
    const token = await tokens.get(String(req.params.id))
    if (token !== undefined && token.owner === res.locals.userId && token.revokedAt === undefined) return token
    await show(req, res.status(404), { wrong: 'There is no such token.' })
    return undefined
  }

  router.get('/', (req, res) => show(req, res))
  router.post('/tokens', async (req, res) => {
    const owner = res.locals.userId
    const name =
      String(req.body?.name ?? '')
        .trim()
        .slice(0, 50) || 'token'
    const issued = await inTurn(owner, async () =>
      (await tokensOfThisMonth(owner)).length < mostTokens ? tokens.issue({ ...settings, name, owner }) : undefined,
    )
    // In the response body: a URL would be stored in histories and logs.
    if (issued !== undefined) return show(req, res.status(201), { secret: issued.secret })
    return show(req, res.status(409), { wrong: `You have had your ${mostTokens} tokens for this month.` })
  })
  router.post('/tokens/:id/renew', async (req, res) => {
    const token = await mine(req, res)
    if (token === undefined) return
    // The old secret ends at once; limits and usage stay.
    const { secret } = await tokens.rotate(token.id, { graceMs: 0 })
    await show(req, res, { secret })
  })
  router.post('/tokens/:id/revoke', async (req, res) => {
    const token = await mine(req, res)
    if (token === undefined) return
    await tokens.revoke(token.id)
    res.redirect(303, '/')
  })
  return router
}
