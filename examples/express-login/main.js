// An app with a login whose users issue their own gateway tokens. Without provider keys a fake provider responds.
import { join } from 'node:path'
import { anthropic, createGateway, openai } from '@modelgate/core'
import { expressMiddleware } from '@modelgate/express'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, folderStorage } from '@modelgate/tokens'
import express from 'express'
import { loginRoutes } from './login.js'
import { ownPagesOnly } from './own-pages-only.js'
import { style } from './pages.js'
import { createSessions } from './sessions.js'
import { tokenRoutes } from './token-routes.js'
import { openUsers } from './users.js'

const { OPENAI_API_KEY, ANTHROPIC_API_KEY, DATA = 'data', PUBLIC_URL, PORT = '3000' } = process.env
const isDemo = OPENAI_API_KEY === undefined && ANTHROPIC_API_KEY === undefined
if (isDemo) console.log('Demo: no provider key is set, so a fake provider responds.')
else if (OPENAI_API_KEY === undefined || ANTHROPIC_API_KEY === undefined)
  console.log('Only one provider key is set, so calls to the other provider fail.')

const tokens = createTokens({ storage: folderStorage(join(DATA, 'tokens')) })
const gateway = createGateway({
  auth: tokens.authenticate,
  upstreams: {
    openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }),
    claude: anthropic({ apiKey: ANTHROPIC_API_KEY ?? 'no key' }),
  },
  models: { 'gpt-*': 'openai', 'claude-*': 'claude' },
  ...(isDemo ? { fetch: createFakeProvider().fetch } : {}),
})
const users = openUsers(join(DATA, 'users.json'))
const sessions = createSessions({ secure: PUBLIC_URL?.startsWith('https:') ?? false })

const app = express()
app.disable('x-powered-by')
// Mounted first: gateway clients send a token and no cookie, so the session middleware below does not apply to them.
app.use(expressMiddleware(gateway))
app.use((_req, res, next) => {
  res.set({
    'cache-control': 'no-store',
    'content-security-policy':
      "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  })
  next()
})
app.get('/style.css', (_req, res) => void res.type('css').send(style))
app.use(ownPagesOnly, express.urlencoded({ extended: false, limit: '10kb' }), sessions.read)
app.use(loginRoutes(users, sessions), tokenRoutes(tokens, PUBLIC_URL))
app.use(errorPage)

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port} to sign up and make a token`)
})

for (const signal of ['SIGTERM', 'SIGINT'])
  process.once(signal, async () => {
    server.close()
    server.closeIdleConnections()
    await gateway.close()
    await tokens.close()
    process.exit(0)
  })

/**
 * Express recognizes error handlers by their four parameters.
 * @param {Error & { status?: number }} error @param {express.Request} _req @param {express.Response} res @param {express.NextFunction} next
 */
function errorPage(error, _req, res, next) {
  const { status = 500 } = error
  if (res.headersSent) next(error)
  else if (status < 500) res.status(status).type('text').send('This request cannot be read.')
  else {
    console.error(error)
    res.status(500).type('text').send('Something went wrong here.')
  }
}
