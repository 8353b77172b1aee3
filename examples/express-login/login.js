import { Router } from 'express'
import { entryPage } from './pages.js'
import { BusyError } from './passwords.js'

/**
 * Routes to sign up, log in and log out; later routes require a login.
 * @param {ReturnType<import('./users.js').openUsers>} users @param {ReturnType<import('./sessions.js').createSessions>} sessions
 */
export function loginRoutes(users, sessions) {
  const router = Router()

  /** @param {'signUp' | 'logIn'} way @returns {import('express').RequestHandler} */
  const enterBy = (way) => async (req, res) => {
    const { name, password } = req.body ?? {}
    try {
      const entered = await users[way](
        String(name ?? '')
          .trim()
          .toLowerCase(),
        String(password ?? ''),
        req.ip,
      )
      if ('wrong' in entered) return void res.status(400).send(entryPage(entered.wrong))
      sessions.open(req, res, entered.user.id)
      res.redirect(303, '/')
    } catch (error) {
      if (!(error instanceof BusyError)) throw error
      res.status(503).send(entryPage(error.message))
    }
  }
  router.post('/signup', enterBy('signUp'))
  router.post('/login', enterBy('logIn'))
  router.post('/logout', (req, res) => {
    sessions.close(req, res)
    res.redirect(303, '/')
  })
  router.use((req, res, next) => {
    const name = res.locals.userId && users.nameOf(res.locals.userId)
    if (name === undefined) return void res.status(req.path === '/' ? 200 : 401).send(entryPage())
    res.locals.userName = name
    next()
  })
  return router
}
