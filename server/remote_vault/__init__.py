"""remote_vault"""
