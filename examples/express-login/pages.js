import { html } from './html.js'

export const style = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
form { margin: .5rem 0; } td form { display: inline; }
input, button { font: inherit; padding: .2rem .5rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid #8884; }
code { background: #8882; padding: .1rem .3rem; overflow-wrap: anywhere; } td code { white-space: nowrap; } td button { margin: .1rem 0; }
.notice { border-left: 4px solid #06c; padding: .3rem .8rem; } .wrong { border-color: #c00; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } }
`

/** @param {string} title @param {unknown} body */
const page = (title, body) =>
  html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<link rel="stylesheet" href="/style.css">
<h1>${title}</h1>
${body}
</html>
`.text

/** @param {string | undefined} wrong */
const complaint = (wrong) => wrong && html`<p class="notice wrong" role="alert">${wrong}</p>`

/** @param {string} action @param {string} label @param {string} autocomplete */
const entry = (action, label, autocomplete) => html`
<form method="post" action="${action}">
  <input name="name" placeholder="name" aria-label="name" autocomplete="username" required>
  <input name="password" type="password" placeholder="password" aria-label="password" autocomplete="${autocomplete}" required>
  <button>${label}</button>
</form>`

/** The page without a login. @param {string} [wrong] */
export const entryPage = (wrong) =>
  page('Models for everybody', [
    complaint(wrong),
    html`<h2>Log in</h2>`,
    entry('/login', 'Log in', 'current-password'),
    html`<h2>Sign up</h2>`,
    entry('/signup', 'Sign up', 'new-password'),
  ])

/** @param {number} value */
const number = (value) => value.toLocaleString('en')

/** @param {import('@modelgate/tokens').CountUsage} count */
const count = ({ of, per, used, limit }) =>
  html`${number(used)} of ${number(limit)} ${of === 'concurrent' ? 'at a time' : `${of} a ${per}`}<br>`

/** @typedef {{ token: import('@modelgate/tokens').Token, usage: import('@modelgate/tokens').TokenUsage }} Row */

/** @param {Row} row */
const tokenRow = ({ token, usage }) => html`
<tr>
  <td>${token.name}<br><code>${token.hint}…</code></td>
  <td>${[...usage.limits, ...usage.budgets].map(count)}</td>
  <td>${number(usage.totals.calls)} calls, ${number(usage.totals.inputTokens)} tokens in, ${number(usage.totals.outputTokens)} out</td>
  <td>${
    token.revokedAt !== undefined
      ? 'revoked'
      : html`
    <form method="post" action="/tokens/${token.id}/renew"><button>New secret</button></form>
    <form method="post" action="/tokens/${token.id}/revoke"><button>Revoke</button></form>`
  }</td>
</tr>`

/**
 * The page with a user's tokens.
 * @param {{ name: string, root: string, rows: readonly Row[], left: number, secret?: string, wrong?: string }} what
 */
export const tokensPage = ({ name, root, rows, left, secret, wrong }) =>
  page(`Tokens of ${name}`, [
    complaint(wrong),
    secret && html`<p class="notice">Your token, which is shown this once: <code>${secret}</code></p>`,
    html`<p>Your clients need a token as their API key, and <code>${root}/v1</code> as their base URL
(<code>${root}</code> for those of Anthropic and Google).</p>`,
    rows.length > 0 &&
      html`<table><tr><th>Token</th><th>Used</th><th>Last 30 days</th><th></th></tr>${rows.map(tokenRow)}</table>`,
    left > 0
      ? html`
<form method="post" action="/tokens">
  <input name="name" placeholder="what it is for" aria-label="what it is for" maxlength="50">
  <button>Make a token</button>
</form>`
      : html`<p>You have had all your tokens for this month.</p>`,
    html`<form method="post" action="/logout"><button>Log out</button></form>`,
  ])
