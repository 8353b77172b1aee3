import { render } from 'preact'
import { gatewayAt } from '../address.ts'
import { Header } from '../parts/frame.tsx'
import { ArrowIcon } from '../parts/icons.tsx'
import { PageLinks } from '../parts/page-links.tsx'
import { AddressCard } from './address-card.tsx'
import { Endpoints } from './endpoints.tsx'
import { Snippets } from './snippets-card.tsx'
import { useInfo } from './use-info.ts'

const healthText = {
  unknown: { look: '', text: 'Checking the gateway …' },
  good: { look: 'good', text: 'Healthy' },
  ready: { look: 'good', text: 'Ready' },
  unready: { look: 'bad', text: 'Not ready' },
  bad: { look: 'bad', text: 'Not responding' },
} as const

function Home() {
  const gateway = gatewayAt(location.href, './')
  const { info, health } = useInfo('./')
  return (
    <div class="home">
      <Header home="./">
        <PageLinks info={info} folder="console/" />
      </Header>
      <main id="main" class="wrap" tabIndex={-1}>
        <div class="hero">
          <p class={`health ${healthText[health].look}`} role="status">
            {healthText[health].text}
          </p>
          <h1>One address for every model client</h1>
          <p class="lead">
            OpenAI, Anthropic and Google clients work unchanged with any model of this gateway. Set only the base URL
            and the API key.
          </p>
          <p class="hero-links">
            {info?.playground ? (
              <a class="button" href="console/playground">
                Open the Playground
                <ArrowIcon />
              </a>
            ) : null}
            {info?.documentation === undefined ? null : (
              <a class="button quiet" href={info.documentation} rel="noreferrer">
                Documentation
              </a>
            )}
          </p>
        </div>
        <AddressCard gateway={gateway} />
        <Snippets gateway={gateway} />
        {info === undefined ? null : <Endpoints info={info} />}
      </main>
      <footer class="foot">
        <div class="wrap">
          <span>Modelgate{info === undefined ? '' : ` ${info.version}`}</span>
          <span>This page sets no cookies and loads nothing from other hosts.</span>
        </div>
      </footer>
    </div>
  )
}

const app = document.getElementById('app')
if (app !== null) render(<Home />, app)
