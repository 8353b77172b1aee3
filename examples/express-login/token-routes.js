import { Router } from 'express'
import { tokensPage } from './pages.js'

/** What each token may do. */
const settings = {
  limits: { requests: 60, concurrent: 4 },
  budget: { tokens: 1_000_000, period: /** @type {const} */ ('month') },
}
/** So a user has three times that at most. */
const mostTokens = 3

/**
 * A user's own tokens: see, issue, renew, revoke.
 * @param {import('@modelgate/tokens').Tokens} tokens @param {string | undefined} publicUrl where users reach this app; default: as the browser says
 */
export function tokenRoutes(tokens, publicUrl) {
  const router = Router()
  /** The last thing that each user does. @type {Map<string, Promise<unknown>>} */
  const turns = new Map()

  /** One after the other for each user: two at once could both be the last that is allowed. @template T @param {string} owner @param {() => Promise<T>} work */
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
   * Tokens that count for this month: the good ones, and those that were good in it. Else whoever has used a token up would
   * revoke it, and make another with a budget of its own.
   * @param {string} owner
   */
  async function tokensOfThisMonth(owner) {
    const now = new Date()
    const firstDay = Date.UTC(now.getUTCFullYear(), now.getUTCMonth())
    const { tokens: all } = await tokens.list({ owner, limit: 1000 })
    return all.filter(({ revokedAt }) => revokedAt === undefined || revokedAt >= firstDay)
  }

  /** @param {import('express').Request} req @param {import('express').Response} res @param {{ secret?: string, wrong?: string }} [said] */
  async function show(req, res, said = {}) {
    const mine = await tokensOfThisMonth(res.locals.userId)
    const rows = await Promise.all(mine.map(async (token) => ({ token, usage: await tokens.usage(token.id) })))
    const root = publicUrl?.replace(/\/$/, '') ?? `${req.protocol}://${req.get('host')}`
    res.send(tokensPage({ ...said, name: res.locals.userName, root, rows, left: mostTokens - mine.length }))
  }

  /** A token of somebody else is told like one that is not there. @param {import('express').Request} req @param {import('express').Response} res */
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
    // In the answer itself: an address would be kept in histories and logs.
    if (issued !== undefined) return show(req, res.status(201), { secret: issued.secret })
    return show(req, res.status(409), { wrong: `You have had your ${mostTokens} tokens for this month.` })
  })
  router.post('/tokens/:id/renew', async (req, res) => {
    const token = await mine(req, res)
    if (token === undefined) return
    // The old secret ends at once; the limits and what is used of them stay.
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
