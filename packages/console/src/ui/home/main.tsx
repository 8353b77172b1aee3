import { render } from 'preact'
import { gatewayAt } from '../address.ts'
import { Header } from '../parts/frame.tsx'
import { ArrowIcon } from '../parts/icons.tsx'
import { AddressCard } from './address-card.tsx'
import { Endpoints } from './endpoints.tsx'
import { Snippets } from './snippets-card.tsx'
import { useInfo } from './use-info.ts'

const said = { unknown: 'Asking the gateway …', good: 'Healthy', bad: 'Not answering' } as const

function Home() {
  const gateway = gatewayAt(location.href, './')
  const { info, health } = useInfo('./')
  return (
    <div class="home">
      <Header home="./">
        <nav aria-label="Pages">{info?.playground ? <a href="console/playground">Playground</a> : null}</nav>
      </Header>
      <main id="main" class="wrap" tabIndex={-1}>
        <div class="hero">
          <p class={`health ${health}`} role="status">
            {said[health]}
          </p>
          <h1>One address for every model client</h1>
          <p class="lead">
            OpenAI, Anthropic and Google clients work here unchanged, with any model behind the gateway. All they need
            is a base URL and a token.
          </p>
          {info?.playground ? (
            <a class="button" href="console/playground">
              Open the Playground
              <ArrowIcon />
            </a>
          ) : null}
        </div>
        <AddressCard gateway={gateway} />
        <Snippets gateway={gateway} />
        {info === undefined ? null : <Endpoints info={info} />}
      </main>
      <footer class="foot">
        <div class="wrap">
          <span>Modelgate{info === undefined ? '' : ` ${info.version}`}</span>
          <span>This page sets no cookies and loads nothing from elsewhere.</span>
        </div>
      </footer>
    </div>
  )
}

const app = document.getElementById('app')
if (app !== null) render(<Home />, app)
