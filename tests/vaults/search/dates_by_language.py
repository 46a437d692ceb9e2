"""Questions with and without a date, by language. Each phrase is "text = since … until", of days; a bound left out is
open. Now is Wednesday, 8 May 2024."""

from __future__ import annotations

DATED = {
    "german": """
Was haben wir heute beschlossen? = 2024-05-08 2024-05-09
Was hat Anna gestern gesagt? = 2024-05-07 2024-05-08
Wer hat vorgestern angerufen? = 2024-05-06 2024-05-07
Was stand diese Woche im Protokoll? = 2024-05-06 2024-05-13
Entscheidungen der letzten Woche = 2024-04-29 2024-05-06
Was war letzte Woche los? = 2024-04-29 2024-05-06
Rechnungen vom letzten Monat = 2024-04-01 2024-05-01
Was haben wir im vergangenen Jahr gelernt? = 2023-01-01 2024-01-01
Was ist in den letzten drei Tagen passiert? = 2024-05-05 2024-05-09
Fehler der letzten 2 Wochen = 2024-04-24 2024-05-09
Was habe ich vor drei Tagen notiert? = 2024-05-05 2024-05-06
Was haben wir vor einem Monat entschieden? = 2024-04-01 2024-05-01
Wer war vor zwei Jahren im Team? = 2022-01-01 2023-01-01
Was geschah im März 2023? = 2023-03-01 2023-04-01
Was haben wir im März geplant? = 2024-03-01 2024-04-01
Treffen am 3. Mai 2023 = 2023-05-03 2023-05-04
Was war am 3. Mai? = 2024-05-03 2024-05-04
Protokoll vom 12.04.2024 = 2024-04-12 2024-04-13
Was wurde seit Montag geändert? = 2024-05-06 …
Was wurde am Freitag beschlossen? = 2024-05-03 2024-05-04
Was kam letzten Dienstag heraus? = 2024-05-07 2024-05-08
Alles vor dem 1. Februar 2024 = … 2024-02-01
Alles nach dem 1. Februar 2024 = 2024-02-02 …
Was lief bis Ende gut, seit August 2023? = 2023-08-01 …
Was geschah zwischen Januar und März 2024? = 2024-01-01 2024-04-01
Kosten von Februar bis April = 2024-02-01 2024-05-01
Was haben wir im Jahr 2022 verkauft? = 2022-01-01 2023-01-01
Umsatz im ersten Quartal 2024 = 2024-01-01 2024-04-01
""",
    "french": """
Qu'avons-nous décidé aujourd'hui ? = 2024-05-08 2024-05-09
Qu'a dit Anne hier ? = 2024-05-07 2024-05-08
Qui a appelé avant-hier ? = 2024-05-06 2024-05-07
Qu'est-ce qui a été fait cette semaine ? = 2024-05-06 2024-05-13
Qu'avons-nous dépensé ce mois-ci ? = 2024-05-01 2024-06-01
Que s'est-il passé la semaine dernière ? = 2024-04-29 2024-05-06
Les factures du mois dernier = 2024-04-01 2024-05-01
Qu'avons-nous appris l'année dernière ? = 2023-01-01 2024-01-01
Qui était dans l'équipe l'an dernier ? = 2023-01-01 2024-01-01
Les erreurs des trois derniers jours = 2024-05-05 2024-05-09
Que s'est-il passé ces 2 dernières semaines ? = 2024-04-24 2024-05-09
Qu'ai-je noté il y a trois jours ? = 2024-05-05 2024-05-06
Qu'avons-nous décidé il y a un mois ? = 2024-04-01 2024-05-01
Que s'est-il passé en mars 2023 ? = 2023-03-01 2023-04-01
Qu'avons-nous prévu en mars ? = 2024-03-01 2024-04-01
La réunion du 3 mai 2023 = 2023-05-03 2023-05-04
Que s'est-il passé le 3 mai ? = 2024-05-03 2024-05-04
Le compte rendu du 1er février 2024 = 2024-02-01 2024-02-02
Le compte rendu du 12/04/2024 = 2024-04-12 2024-04-13
Qu'est-ce qui a changé depuis lundi ? = 2024-05-06 …
Qu'est-ce qui est sorti mardi dernier ? = 2024-05-07 2024-05-08
Tout avant le 1er février 2024 = … 2024-02-01
Tout après le 1er février 2024 = 2024-02-02 …
Qu'est-ce qui a changé depuis août 2023 ? = 2023-08-01 …
Que s'est-il passé entre janvier et mars 2024 ? = 2024-01-01 2024-04-01
Les coûts du 2 au 5 avril 2024 = 2024-04-02 2024-04-06
Qu'avons-nous vendu en 2022 ? = 2022-01-01 2023-01-01
Le chiffre du premier trimestre 2024 = 2024-01-01 2024-04-01
""",
    "spanish": """
¿Qué decidimos hoy? = 2024-05-08 2024-05-09
¿Qué dijo Ana ayer? = 2024-05-07 2024-05-08
¿Quién llamó anteayer? = 2024-05-06 2024-05-07
¿Qué se hizo esta semana? = 2024-05-06 2024-05-13
¿Cuánto gastamos este mes? = 2024-05-01 2024-06-01
¿Qué pasó la semana pasada? = 2024-04-29 2024-05-06
Las facturas del mes pasado = 2024-04-01 2024-05-01
¿Qué aprendimos el año pasado? = 2023-01-01 2024-01-01
Los errores de los últimos tres días = 2024-05-05 2024-05-09
¿Qué pasó en las últimas 2 semanas? = 2024-04-24 2024-05-09
¿Qué anoté hace tres días? = 2024-05-05 2024-05-06
¿Qué decidimos hace un mes? = 2024-04-01 2024-05-01
¿Qué pasó en marzo de 2023? = 2023-03-01 2023-04-01
¿Qué planeamos en marzo? = 2024-03-01 2024-04-01
La reunión del 3 de mayo de 2023 = 2023-05-03 2023-05-04
¿Qué pasó el 3 de mayo? = 2024-05-03 2024-05-04
El acta del 12/04/2024 = 2024-04-12 2024-04-13
¿Qué cambió desde el lunes? = 2024-05-06 …
¿Qué se decidió el viernes? = 2024-05-03 2024-05-04
¿Qué salió el martes pasado? = 2024-05-07 2024-05-08
Todo antes del 1 de febrero de 2024 = … 2024-02-01
Todo después del 1 de febrero de 2024 = 2024-02-02 …
¿Qué cambió desde agosto de 2023? = 2023-08-01 …
¿Qué pasó entre enero y marzo de 2024? = 2024-01-01 2024-04-01
Los costes desde febrero hasta abril = 2024-02-01 2024-05-01
¿Qué vendimos en 2022? = 2022-01-01 2023-01-01
Las cifras del primer trimestre de 2024 = 2024-01-01 2024-04-01
""",
    "japanese": """
今日決めたことは何ですか = 2024-05-08 2024-05-09
昨日アンナは何と言いましたか = 2024-05-07 2024-05-08
一昨日電話したのは誰ですか = 2024-05-06 2024-05-07
今週の議事録を見せて = 2024-05-06 2024-05-13
今月の経費はいくらですか = 2024-05-01 2024-06-01
先週何がありましたか = 2024-04-29 2024-05-06
先月の請求書 = 2024-04-01 2024-05-01
去年学んだこと = 2023-01-01 2024-01-01
昨年の売上は = 2023-01-01 2024-01-01
過去3日間のエラー = 2024-05-05 2024-05-09
直近2週間に起きたこと = 2024-04-24 2024-05-09
3日前に書いたメモ = 2024-05-05 2024-05-06
三日前に書いたメモ = 2024-05-05 2024-05-06
1か月前に決めたこと = 2024-04-01 2024-05-01
2023年3月に何がありましたか = 2023-03-01 2023-04-01
3月に計画したこと = 2024-03-01 2024-04-01
2023年5月3日の会議 = 2023-05-03 2023-05-04
5月3日の会議で決めたこと = 2024-05-03 2024-05-04
月曜日から変わったこと = 2024-05-06 …
先週の金曜日に決めたこと = 2024-05-03 2024-05-04
2024年2月1日より前の記録 = … 2024-02-01
2023年8月以降の変更 = 2023-08-01 …
2024年1月から3月までの費用 = 2024-01-01 2024-04-01
2022年に売れたもの = 2022-01-01 2023-01-01
""",
    "chinese": """
我们今天决定了什么 = 2024-05-08 2024-05-09
安娜昨天说了什么 = 2024-05-07 2024-05-08
前天是谁打的电话 = 2024-05-06 2024-05-07
本周的会议记录 = 2024-05-06 2024-05-13
这个月花了多少钱 = 2024-05-01 2024-06-01
上周发生了什么 = 2024-04-29 2024-05-06
上个星期谁请假了 = 2024-04-29 2024-05-06
上个月的发票 = 2024-04-01 2024-05-01
去年我们学到了什么 = 2023-01-01 2024-01-01
过去三天的错误 = 2024-05-05 2024-05-09
最近两周发生了什么 = 2024-04-24 2024-05-09
我三天前记了什么 = 2024-05-05 2024-05-06
一个月前我们决定了什么 = 2024-04-01 2024-05-01
2023年3月发生了什么 = 2023-03-01 2023-04-01
在3月份我们计划了什么 = 2024-03-01 2024-04-01
2023年5月3日的会议 = 2023-05-03 2023-05-04
5月3号的会议决定了什么 = 2024-05-03 2024-05-04
上周五决定了什么 = 2024-05-03 2024-05-04
自2023年8月以来的变化 = 2023-08-01 …
2024年2月1日之前的记录 = … 2024-02-01
2024年2月1日之后的记录 = 2024-02-02 …
从2024年1月到3月的费用 = 2024-01-01 2024-04-01
2022年卖了什么 = 2022-01-01 2023-01-01
2024年第一季度的数字 = 2024-01-01 2024-04-01
""",
}

UNDATED = {
    "german": """
Wann läuft die Sicherung?
Wie oft wird das Zertifikat erneuert?
Wer ist für den Server zuständig?
Wie viele Tage Urlaub haben wir?
Wie lange dauert die Umstellung?
Welcher Port gehört zur Datenbank?
Warum ist die Suche langsam?
Wo liegt der Schlüssel für das Archiv?
Welche Version von Python brauchen wir?
Was kostet der Vertrag pro Monat?
Wie heißt der Hund von Frau März?
Wer isst gern Maikäfer aus Schokolade?
Was steht in Kapitel 3.5.2 der Anleitung?
Was bedeutet Fehler 2024 im Protokoll?
Wie richte ich die Wiederherstellung ein?
Warum steht der Ordner vor dem Namen?
Was kommt nach dem zweiten Schritt?
Wie viele Zeilen hat die Tabelle?
Wer hat den Montagsdienst übernommen?
Welche Woche passt allen für das Treffen?
In welchem Monat ist das Budget fällig?
Wie weit ist es von Köln bis Bonn?
Was ist der Unterschied zwischen Kopie und Sicherung?
Wann ist Redaktionsschluss?
Wie groß ist der Cache in MB?
Was macht der Dienst um 8080?
Wer mag Sommer lieber als Winter?
Wie funktioniert die Anmeldung seit dem Umbau?
Was soll ich vor der Abgabe prüfen?
Welche Frist gilt bis zur Kündigung?
Wo ist das Handbuch für neue Leute?
Welche Farbe hat der Knopf?
Wer schreibt die Rechnung?
Wie setze ich das Passwort zurück?
Was darf ein Gast sehen?
Welches Werkzeug prüft die Übersetzungen?
Warum ist der Tag so kurz?
Wie viele Jahre gilt die Garantie?
Was ist das letzte Kapitel?
Wer war die letzte Chefin?
Welche Regeln gelten am Wochenende?
Wie melde ich mich ab?
Was tun, wenn die Platte voll ist?
Wo wohnt August Meier?
Ist die Mail von Frau Sommer angekommen?
Was heißt Latenz?
Wie viele Stunden dauert der Flug?
Welche drei Tage sind frei?
Wer trägt die Kosten von 2000 Euro?
Wie stelle ich den Wecker auf sieben?
""",
    "french": """
Quand la sauvegarde tourne-t-elle ?
À quelle fréquence le certificat est-il renouvelé ?
Qui est responsable du serveur ?
Combien de jours de congé avons-nous ?
Combien de temps dure la migration ?
Quel port utilise la base de données ?
Pourquoi la recherche est-elle lente ?
Où se trouve la clé de l'archive ?
Quelle version de Python faut-il ?
Combien coûte le contrat par mois ?
Il y a trois jours de congé en plus ?
Il y a deux semaines de préavis, non ?
Comment s'appelle le chien de Mme Avril ?
Quelle est la taille de la planète Mars ?
Que dit le chapitre 3.5.2 du manuel ?
Que signifie l'erreur 2024 ?
Comment restaurer les données ?
Pourquoi le dossier est-il avant le nom ?
Que se passe-t-il après la deuxième étape ?
Combien de lignes a le tableau ?
Quelle semaine convient à tout le monde ?
Quel mois le budget est-il dû ?
Quelle est la différence entre copie et sauvegarde ?
Quelle est la distance de Lyon à Paris ?
Quelle est la taille du cache en Mo ?
Que fait le service sur 8080 ?
Qui préfère l'été à l'hiver ?
Que faut-il vérifier avant la livraison ?
Depuis quelle machine se connecte-t-on ?
Où est le manuel des nouveaux ?
De quelle couleur est le bouton ?
Qui écrit la facture ?
Comment réinitialiser le mot de passe ?
Que peut voir un invité ?
Quel outil vérifie les traductions ?
Pourquoi la journée est-elle si courte ?
Combien d'années dure la garantie ?
Quel est le dernier chapitre ?
Qui est la dernière arrivée ?
Quelles règles le week-end ?
Comment se désabonner ?
Que faire quand le disque est plein ?
Quel est le menu du lundi ?
Est-ce ouvert le dimanche ?
Que veut dire latence ?
Combien d'heures dure le vol ?
Quels sont les trois jours libres ?
Qui paie les 2000 euros ?
Qui aime les marches de mai ?
Est-ce que le second test passe ?
""",
    "spanish": """
¿Cuándo se hace la copia de seguridad?
¿Con qué frecuencia se renueva el certificado?
¿Quién es responsable del servidor?
¿Cuántos días de vacaciones tenemos?
¿Cuánto tiempo dura la migración?
¿Qué puerto usa la base de datos?
¿Por qué la búsqueda es lenta?
¿Dónde está la clave del archivo?
¿Qué versión de Python hace falta?
¿Cuánto cuesta el contrato por mes?
¿Cómo se llama el perro de la señora Abril?
¿Qué tamaño tiene el planeta Marte?
¿Qué dice el capítulo 3.5.2 del manual?
¿Qué significa el error 2024?
¿Cómo se restauran los datos?
¿Por qué está la carpeta antes del nombre?
¿Qué pasa después del segundo paso?
¿Cuántas líneas tiene la tabla?
¿Qué semana les conviene a todos?
¿En qué mes vence el presupuesto?
¿Cuál es la diferencia entre copia y respaldo?
¿Qué distancia hay de Madrid a Toledo?
¿Qué tamaño tiene la caché en MB?
¿Qué hace el servicio en 8080?
¿Quién prefiere el verano al invierno?
¿Qué hay que revisar antes de la entrega?
¿Desde qué máquina se entra?
¿Dónde está el manual para nuevos?
¿De qué color es el botón?
¿Quién escribe la factura?
¿Cómo se restablece la contraseña?
¿Qué puede ver un invitado?
¿Qué herramienta revisa las traducciones?
¿Por qué es tan corto el día?
¿Cuántos años dura la garantía?
¿Cuál es el último capítulo?
¿Quién fue la última en llegar?
¿Qué reglas hay los fines de semana?
¿Cómo me doy de baja?
¿Qué hacer cuando el disco está lleno?
¿Cuál es el menú de los lunes?
¿Abren los domingos?
¿Qué quiere decir latencia?
¿Cuántas horas dura el vuelo?
¿Cuáles son los tres días libres?
¿Quién paga los 2000 euros?
¿Quién va a la Plaza de Mayo?
¿Pasa la segunda prueba?
¿Hace calor en la sala?
¿Mañana por la mañana o por la tarde?
""",
    "japanese": """
バックアップはいつ実行されますか
証明書はどのくらいの頻度で更新しますか
サーバーの担当者は誰ですか
有給休暇は何日ありますか
移行にはどのくらい時間がかかりますか
データベースのポート番号は何ですか
検索が遅いのはなぜですか
アーカイブの鍵はどこですか
Pythonのどのバージョンが必要ですか
契約は月にいくらですか
締め切りの3日前までに何を出しますか
出発の2週間前に何を確認しますか
三日月はどの方角に見えますか
毎日の当番は誰ですか
毎週の会議は何時からですか
日本の首都はどこですか
マニュアルの3.5.2には何が書いてありますか
エラー2024は何を意味しますか
データを復元する方法は
表は何行ありますか
どの週が全員に都合がいいですか
予算の締めは何月ですか
コピーとバックアップの違いは何ですか
東京から大阪まで何キロですか
キャッシュの大きさは何MBですか
8080で動いているのは何ですか
夏と冬どちらが好きですか
納品前に確認することは何ですか
どの端末から接続しますか
新人向けの手引きはどこですか
ボタンの色は何色ですか
請求書は誰が書きますか
パスワードを再設定する方法は
ゲストは何を見られますか
翻訳を確認する道具は何ですか
一日は何時間ですか
保証は何年ですか
最後の章は何ですか
最後に来たのは誰ですか
週末の規則は何ですか
解約する方法は
ディスクがいっぱいのときはどうしますか
月曜日のメニューは何ですか
日曜は開いていますか
遅延とは何ですか
飛行時間は何時間ですか
休みの三日間はどれですか
二千円は誰が払いますか
五月病とは何ですか
1日に何回同期しますか
""",
    "chinese": """
备份什么时候运行
证书多久更新一次
谁负责服务器
我们有几天年假
迁移需要多长时间
数据库用哪个端口
为什么搜索很慢
存档的密钥在哪里
需要哪个版本的Python
合同每月多少钱
截止日期前三天要交什么
会议周围有停车场吗
出发前天气怎么样
晚上月亮几点升起
日本周边有哪些国家
每天谁值班
每周例会几点开始
手册3.5.2节写了什么
错误2024是什么意思
怎么恢复数据
表格有多少行
哪一周大家都方便
预算几月到期
复制和备份有什么区别
从北京到上海多远
缓存有多少MB
8080上运行的是什么
你喜欢夏天还是冬天
交付之前要检查什么
从哪台机器登录
新人手册在哪里
按钮是什么颜色
谁写发票
怎么重置密码
访客能看到什么
用什么工具检查翻译
一天有多少小时
保修几年
最后一章是什么
最后到的是谁
周末有什么规定
怎么退订
磁盘满了怎么办
周一到周五几点开门
星期天开门吗
延迟是什么意思
飞行时间几个小时
哪三天休息
谁付两千元
第3天和第4天做什么
""",
}
