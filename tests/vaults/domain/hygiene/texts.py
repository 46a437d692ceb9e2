"""Ordinary texts of developers, and texts with secrets in them. The secrets are made here, letter by letter from a
fixed seed, so that no file of the repository holds anything of their shape."""

from __future__ import annotations

import random
import string

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"
URL = ALNUM + "-_"


def made(length: int, letters: str = ALNUM, seed: int = 7) -> str:
    """A random word, the same each time."""
    source = random.Random(f"{length}{letters}{seed}")
    return "a1B"[: min(3, length)].translate(str.maketrans("a1B", letters[0] + letters[-1] + letters[1])) + "".join(
        source.choice(letters) for _ in range(length - 3)
    )


SHA = made(40, HEX)
UUID = "018f3c5e-7d2a-7b41-9f0e-3c5d8a1b2e4f"
PEM_BODY = "\n".join(made(64, ALNUM + "+/", seed) for seed in range(6))

ORDINARY = [
    "We use PostgreSQL 16 for the ledger because of its row-level security.",
    f"The fix is in commit {SHA}, released with v2.4.1.",
    f"Request id {UUID} failed with 502.",
    f"sha256:{made(64, HEX)} is the digest of the base image.",
    f"The file's SHA-256 is {made(64, HEX)}.",
    f"idempotency_key: {UUID}",
    f"cache_key = {made(40, HEX)}",
    f"etag {made(16, HEX)} did not match",
    f"![logo](data:image/png;base64,iVBORw0KGgo{made(400, ALNUM + '+/')}==)",
    f"npm integrity sha512-{made(86, ALNUM + '+/')}==",
    "The password is stored as a bcrypt hash.",
    "The token is base64url-encoded and signed with HS256.",
    "Passwords must have 12 characters at least; see docs/passwords.md.",
    "password: required, at least 12 characters",
    "password = getpass.getpass()",
    "password = os.environ['DB_PASSWORD']",
    "password=settings.database.password",
    "password: str | None = None",
    "def login(user: str, password: SecretStr) -> Token:",
    'parser.add_argument("--password", required=True)',
    "DB_PASSWORD=${DB_PASSWORD}",
    "DB_PASSWORD=$(pass show db/prod)",
    "POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:?must be set}",
    "postgres://user:password@localhost:5432/app",
    "postgres://postgres:postgres@localhost/test",
    "postgresql://{user}:{password}@{host}/{name}",
    "postgresql://app:${DB_PASSWORD}@db/app",
    "amqp://guest:guest@localhost:5672",
    "https://example.com:8443/path@v2",
    "git@github.com:acme/strong.git",
    "ssh://git@git.acme.dev:2222/acme/app.git",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "curl -H 'Authorization: Bearer YOUR_API_TOKEN' https://api.acme.dev",
    "Bearer authentication replaces cookies in the API.",
    "api_key = 'your-api-key-here'",
    "API_KEY=xxxxxxxxxxxxxxxxxxxxxxxx",
    "OPENAI_API_KEY=sk-...",
    "Set OPENAI_API_KEY; keys begin with sk- and must not be committed.",
    "GitHub tokens start with ghp_ or github_pat_ since 2021.",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx is how it looks in the docs",
    "AWS access keys look like AKIA followed by 16 characters.",
    "aws_secret_access_key is read from ~/.aws/credentials",
    "The secret is in 1Password under 'prod/ledger'.",
    "secret: projects/acme/secrets/db-password/versions/3",
    "secretRef: ledger-db-credentials",
    "secretName: tls-certificate-prod-2026",
    "kubectl create secret generic db --from-env-file=.env",
    "max_tokens: 4000, temperature 0.2",
    "token_count=12000 of 128000",
    "tokens: 2500 for the pack, 600 for state",
    "next_page_token = CAUQAA1b2c3d4e5f6g7h8",
    "csrf_token: 9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    "The tokenizer is cl100k_base; token 100257 ends a text.",
    "-----BEGIN CERTIFICATE-----\nMIIB" + made(60, ALNUM + "+/") + "\n-----END CERTIFICATE-----",
    "The file must start with -----BEGIN PRIVATE KEY----- or loading it fails.",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5" + made(48, ALNUM + "+/") + " ada@laptop",
    "primary_key=True, foreign_key='users.id', sort_key='created_at'",
    "public_key: age1" + made(58, LOWER),
    "key: value pairs, one per line",
    "The secret to good tests: they say what they prove.",
    "secretary: Jane Doe, room 4.12",
    "pwd: /home/ada/projects/strongroom",
    "All tests pass: 1204/1204 in 38.2s",
    "compass: north-by-northwest-2024",
    "passport number is checked by the bank, not by us",
    "password-less sign-in with passkeys since 2025-03",
    "password_hash: $2b$12$" + made(53, ALNUM + "./"),
    "The JWT has the parts header.payload.signature; alg is RS256.",
    "eyJhbGciOiJIUzI1NiJ9 is the header of most of our tokens",
    "sk-learn and sk-video are Python packages",
    "class=sk-circle sk-fading-circle sk-cube-grid",
    "The task-sk-runner-for-deployments-in-production is slow",
    "Use hf_transfer to speed up downloads.",
    "See https://hooks.slack.com/services for how to make a webhook.",
    "credential: see vault:secret/data/ledger#password",
    "client_secret_file=/run/secrets/client_secret",
    "Der Schlüssel liegt im Tresor, das Passwort ist dort hinterlegt.",
    "パスワードは一か月ごとに変更します。",
    "i18n: { password: 'Kennwort', token: 'Zeichen' }",
    '{"password": "required|string|min:8"}',
    "if password == confirm_password: return True",
    "token = request.headers.get('Authorization')",
    "const token = await getToken(session);",
    "access_key: ''",
    "TELEGRAM chat 123456789:general",
    "Run `openssl rand -hex 32` to make the secret.",
    "private_key_path = ./keys/service-account.json",
    "build 20261122.4 passed; artefact app-1.2.3-py3-none-any.whl",
]

JWT = "eyJ" + made(33, URL) + ".eyJ" + made(60, URL) + "." + made(43, URL)

SECRETS = [
    ("AWS access key", "AKIA" + made(16, UPPER)),
    ("AWS access key", "aws_access_key_id=ASIA" + made(16, UPPER)),
    ("secret access key", "aws_secret_access_key = " + made(40, ALNUM)),
    ("GitHub token", "use ghp_" + made(36) + " for CI"),
    ("GitHub token", "(gho_" + made(36) + ")"),
    ("GitHub token", "github_pat_" + made(22) + "_" + made(59)),
    ("GitLab token", "glpat-" + made(20)),
    ("Slack token", "xoxb-123456789012-123456789012-" + made(24)),
    ("Slack webhook", "https://hooks.slack.com/services/T0" + made(8, UPPER) + "/B0" + made(8, UPPER) + "/" + made(24)),
    ("Google API key", "AIza" + made(35, URL)),
    ("Google OAuth secret", "GOCSPX-" + made(28, URL)),
    ("Stripe key", "sk_live_" + made(24)),
    ("Stripe key", "rk_test_" + made(24)),
    ("OpenAI key", "sk-" + made(48)),
    ("OpenAI key", "sk-proj-" + made(80, URL)),
    ("Anthropic key", "sk-ant-api03-" + made(90, URL)),
    ("npm token", "//registry.npmjs.org/:_authToken=npm_" + made(36)),
    ("PyPI token", "pypi-AgE" + made(120, URL)),
    ("Hugging Face token", "hf_" + made(34)),
    ("SendGrid key", "SG." + made(22, URL) + "." + made(43, URL)),
    ("JSON web token", JWT),
    ("private key", f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}\n-----END RSA PRIVATE KEY-----"),
    ("private key", f"-----BEGIN PRIVATE KEY-----\\n{PEM_BODY}".replace("\n", "\\n") + "\\n-----END PRIVATE KEY-----"),
    (
        "private key",
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n"
        f"{PEM_BODY}\n-----END EC PRIVATE KEY-----",
    ),
    ("private key", f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PEM_BODY}"),
    ("password in an address", "postgres://ledger:Xk4v9Qp2@db.acme.dev:5432/ledger"),
    ("password in an address", "redis://:s3cr3tpw@cache:6379/0"),
    ("password in an address", "mongodb+srv://app:kU7-plm3@cluster0.acme.net/?retryWrites=true"),
    ("password in an address", "https://bot:9fj3Kd02ls@git.acme.dev/repo.git"),
    ("password", "password = hunter2"),
    ("password", 'password: "Tr0ub4dor&3"'),
    ("password", "DB_PASSWORD=kT9zQ4mW"),
    ("password", "The password is `Winter2026!`."),
    ("password", 'password="correcthorsebattery"'),
    ("passphrase", "passphrase: 7-Elefanten-tanzen!"),
    ("passwort", "Passwort: Sommer24"),
    ("pwd", "Server=db;User Id=sa;Pwd=R7kq2Lm9;"),
    ("token", 'token = "' + made(32) + '"'),
    ("token", "auth_token: " + made(40, HEX)),
    ("api key", "api_key=" + made(32, HEX)),
    ("api key", '"apiKey": "' + made(24) + '"'),
    ("secret", "client_secret: " + made(32, ALNUM + "~.")),
    ("bearer token", "Authorization: Bearer " + made(40, URL)),
    ("bearer token", "curl -H 'authorization: bearer " + made(28) + "' https://api.acme.dev"),
    ("basic authorization", "Authorization: Basic YWRhOmxvdmVsYWNl"),
    ("Azure storage key", "AccountName=acme;AccountKey=" + made(86, ALNUM + "+/") + "=="),
    ("Shopify token", "shpat_" + made(32, HEX)),
    ("DigitalOcean token", "dop_v1_" + made(64, HEX)),
    ("HashiCorp Vault token", "VAULT_TOKEN=hvs." + made(90, URL)),
    ("Telegram bot token", "123456789:AA" + made(33, URL)),
]
